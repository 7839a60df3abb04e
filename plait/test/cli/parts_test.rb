# frozen_string_literal: true

require "test_helper"
require "plait/cli"
require "support/command_line"

# A gem adds a command or a suite by one file, found on the load path.
class PartsTest < Minitest::Test
  include Support::CommandLine

  GREET = <<~RUBY
    require "plait/cli/command"
    require "plait/cli/exit_status"

    module Plait
      module CLI
        class Greet < Command
          USAGE = "greet NAME"
          SUMMARY = "Say hello"
          ARGUMENTS = (1..1)
          OPTIONS = { loud: { type: :boolean, desc: "in capitals" }, times: { banner: "N", default: "1", desc: "how often" } }.freeze

          def call
            hello = "hello \#{words.first}"
            options["times"].to_i.times { terminal.say(options["loud"] ? hello.upcase : hello) }
            ExitStatus::OK
          end
        end
      end
    end
  RUBY

  NAPS = <<~RUBY
    require "plait/suites/common/suite"
    require "plait/lab"

    module Plait
      module Suites
        class Naps < Suite
          NAME = "naps"
          TITLE = "Naps"
          SUMMARY = "short ones"
          BRIEF = {}.freeze

          private

          def build(scale: 1.0, on: nil, **)
            cells = %i[sequence threads].map { |name| Lab::Cell.new(on: name, items: [scale * 0.01] * 3, body: ->(s) { sleep(s); s }) }
            [Lab::Workload.new(name: NAME, title: TITLE, unit: "naps", cells: only(cells, on))]
          end
        end
      end
    end
  RUBY

  def test_a_command_is_one_file
    add("commands/greet.rb", GREET)
    assert_equal "HELLO WORLD\nHELLO WORLD\n", added("greet", "--loud", "World", "--times=2").out
    assert_match(/^  greet NAME +Say hello$/, added("help").out)
    assert_match(/^  --times N +how often \(default: 1\)$/, added("help", "greet").out)
    assert_match(/unknown option --lud; did you mean "--loud"\?/, added("greet", "World", "--lud").err)
  end

  def test_a_suite_is_one_file
    add("suites/naps.rb", NAPS)
    result = added("lab", "naps", "--tables", "--scale", "0.1", "--requests", "3", "--rounds", "1", "--no-html")
    assert_equal 0, result.code, result.err
    assert_match(/^Naps$/, result.out)
    assert_match(/^  threads /, result.out)
    assert_includes result.err, "--requests has no effect on \"naps\""
    refute_includes result.err, "--scale has no effect"
    assert_match(/The suites are .*naps/, added("lab", "nothing-like-it").err)
  end

  def test_a_broken_command_is_one_line
    add("commands/broken.rb", "raise \"no\"\n")
    assert_equal ["plait: plait broken can't be loaded: no\n"], added("help").err.lines
    broken = added("broken")
    assert_equal [69, "plait: plait broken can't be loaded: no (RuntimeError; PLAIT_DEBUG=1 shows where)\n"],
                 [broken.code, broken.err]
    assert_equal 0, added("version").code
  end

  private

  def add(name, text)
    FileUtils.mkdir_p(File.dirname(path("lib/plait/#{name}")))
    write("lib/plait/#{name}", text)
  end

  # The folder comes behind that of Plait, as a gem's does.
  def added(*arguments)
    plait(*arguments, env: { "RUBYLIB" => [*ENV.fetch("RUBYLIB", nil), path("lib")].join(File::PATH_SEPARATOR) })
  end
end
