# frozen_string_literal: true

require_relative "../test_helper"
require_relative "house/blueprint"
require_relative "house/ceremony"
require_relative "house/engines"
require_relative "house/loading"

# That the checks of the architecture can fail: each on a small bad sample.
class HouseTest < Minitest::Test
  GOOD = {
    "plait/lib/plait/values/outcome.rb" => "module Plait; class Outcome; OK = 1; end; end",
    "plait/lib/plait/mechanisms/scope.rb" => <<~RUBY,
      require_relative "../values/outcome"
      module Plait; class Scope; X = Outcome::OK; end; end
    RUBY
    "plait/lib/plait/lab/trial.rb" => <<~RUBY
      require_relative "../mechanisms/scope"
      module Plait; module Lab; class Trial < Scope; end; end; end
    RUBY
  }.freeze
  RULES = %i[strangers dangling forbidden_requires forbidden_libraries forbidden_constants forbidden_names
             unrequired_names late_requires autoloads misnamed prints circles].freeze

  def test_a_good_house_has_no_complaints
    RULES.each { |rule| assert_empty(house.public_send(rule), rule) }
  end

  def test_a_require_of_a_room_above
    assert_complaint(:forbidden_requires, %r{outcome.rb \(values\) requires plait/lib/plait/lab/trial.rb},
                     "plait/lib/plait/values/outcome.rb" => 'require_relative "../lab/trial"')
  end

  def test_a_require_of_a_gem_without_a_dependency
    sample = { "plait-rpc/lib/plait/rpc/client.rb" => 'require "plait/http/client"' }
    assert_complaint(:borders, %r{client.rb requires plait-http/lib/plait/http/client.rb, and plait-rpc.gemspec names}, sample)
    assert_empty(house("plait-rpc/lib/plait/rpc/client.rb" => 'require "plait/io/pool"').borders)
    assert_complaint(:leaving, /client.rb requires plait-io.* by a relative path/,
                     "plait-rpc/lib/plait/rpc/client.rb" => 'require_relative "../../../../plait-io/lib/plait/io/pool"')
  end

  def test_a_require_below_the_top_counts_as_well
    sample = { "plait/lib/plait/values/outcome.rb" => "def f\n  require_relative '../lab/trial'\nend" }
    assert_complaint(:forbidden_requires, %r{lab/trial.rb}, sample)
    assert_complaint(:late_requires, %r{outcome.rb:2 requires plait/lib/plait/lab/trial.rb}, sample)
  end

  def test_a_composed_require_is_late
    assert_complaint(:late_requires, /scope.rb:1/,
                     "plait/lib/plait/mechanisms/scope.rb" => "require_relative \"scope/\#{name}\"")
  end

  def test_a_library_the_room_may_not_have
    assert_complaint(:forbidden_libraries, /requires "socket"/, "plait-io/lib/plait/protocols/http1.rb" => 'require "socket"')
    assert_complaint(:forbidden_libraries, /requires "slop"/, "plait/lib/plait/lab/trial.rb" => 'require "slop"')
  end

  def test_sockets_threads_fibers_and_clocks_in_protocols
    %w[TCPSocket.new(1) Thread.new Fiber.yield Process.clock_gettime(1) Time.now ::IO.select Queue.new
       OpenSSL::SSL].each do |code|
      assert_complaint(:forbidden_constants, /http1.rb:2 \(protocols\) names/,
                       "plait-io/lib/plait/protocols/http1.rb" => "\n#{code}")
    end
  end

  def test_a_constant_of_ours_with_the_name_of_a_forbidden_one_is_ours
    source = "module Plait; module Protocols; class Http1; class Queue; end; Queue.new; end; end; end"
    assert_empty(house("plait-io/lib/plait/protocols/http1.rb" => source).forbidden_constants)
  end

  def test_a_name_of_a_room_above_without_a_require
    ["Lab::Trial", "Plait::Lab::Trial", "::Plait::Lab::Trial", "Lab::Trial::X"].each do |name|
      assert_complaint(:forbidden_names, %r{scope.rb:1 \(mechanisms\) names #{name} of plait/lib/plait/lab/trial.rb},
                       "plait/lib/plait/mechanisms/scope.rb" => "module Plait; class Scope; #{name}; end; end")
    end
  end

  def test_a_superclass_is_a_name
    assert_complaint(:forbidden_names, /names Lab::Trial/,
                     "plait/lib/plait/mechanisms/scope.rb" => "module Plait; class Scope < Lab::Trial; end; end")
  end

  def test_a_name_that_is_not_required
    assert_complaint(:unrequired_names, %r{trial.rb:1 names Scope and does not require plait/lib/plait/mechanisms/scope.rb},
                     "plait/lib/plait/lab/trial.rb" => "module Plait; module Lab; class Trial < Scope; end; end; end")
  end

  def test_all_files_count_on_the_floor
    scope = "module Plait; class Scope; X = Outcome::OK; end; end"
    assert_empty(house("plait/lib/plait/mechanisms/scope.rb" => scope).unrequired_names)
  end

  def test_a_part_may_name_the_whole_that_requires_it
    whole = "require_relative 'trial/meter'; module Plait; module Lab; class Trial; end; end; end"
    part = "module Plait; module Lab; class Trial; class Meter; def f = Trial.new; end; end; end; end"
    assert_empty(house("plait/lib/plait/lab/trial.rb" => whole, "plait/lib/plait/lab/trial/meter.rb" => part).unrequired_names)
  end

  def test_an_autoload_outside_of_the_face
    assert_complaint(:autoloads, /scope.rb autoloads Outcome/,
                     "plait/lib/plait/mechanisms/scope.rb" => 'autoload :Outcome, "x"')
    face = 'module Plait; autoload :Lab, "x"; def self.f = Lab::Trial; end'
    assert_empty(house("plait/lib/plait.rb" => face).forbidden_names)
  end

  def test_a_file_named_otherwise_than_its_constant
    assert_complaint(:misnamed, /trial.rb defines Plait, Plait::Attempt/,
                     "plait/lib/plait/lab/trial.rb" => "module Plait; class Attempt; end; end")
    assert_empty(house("plait/lib/plait/lab/to_html.rb" => "module Plait; module Lab; module ToHTML; end; end; end").misnamed)
  end

  def test_each_way_to_print
    ["puts 1", "puts(1)", "puts", "print 1", "p 1", "pp(1)", "warn 'x'", "$stderr.write(1)", "STDOUT.puts",
     "$stdout << 1", "Kernel.puts(1)", "Kernel.warn 'x'", "Warning.warn('x')", "abort 'x'", "printf('x')",
     "a { puts 1 }"].each do |code|
      assert_complaint(:prints, /trial.rb:2 uses/, "plait/lib/plait/lab/trial.rb" => "\n#{code}")
    end
  end

  def test_what_only_looks_like_printing
    ["file.puts(1)", "p = 1; p + p", "{ print: 1 }", "def warn; end", "x.warn?", "# puts 1", "'puts 1'"].each do |code|
      assert_empty(house("plait/lib/plait/lab/trial.rb" => code).prints, code)
    end
  end

  def test_circles
    circle = %w[a b c a].map { |name| "plait/lib/plait/lab/#{name}.rb" }.join(" -> ")
    assert_complaint(:circles, /\A#{circle}\z/,
                     "plait/lib/plait/lab/a.rb" => 'require_relative "b"', "plait/lib/plait/lab/b.rb" => 'require_relative "c"',
                     "plait/lib/plait/lab/c.rb" => 'require_relative "a"')
  end

  def test_a_file_that_is_not_there_and_a_room_that_is_not_there
    assert_complaint(:dangling, %r{requires plait/lib/plait/lab/gone.rb},
                     "plait/lib/plait/lab/trial.rb" => 'require_relative "gone"')
    assert_complaint(:strangers, /no "attic"/, "plait/lib/plait/attic/box.rb" => "")
  end

  def test_arrows_between_rooms
    assert_equal([%w[lab mechanisms], %w[mechanisms values]], house.arrows)
  end

  def test_arrows_of_c_that_run_back_up
    low = { "plait/ext/plait/low/low.c" => "int low(void) {\n    return 1;\n}\n", "plait/ext/plait/low/low.h" => "" }
    high = { "plait/ext/plait/high/high.c" => "#include \"../low/low.h\"\nint high(void) {\n    return low();\n}\n" }
    assert_empty(engines(low, high).running_back)
    assert_equal([%w[plait/ext/plait/high plait/ext/plait/low]], engines(low, high).arrows)
    back = { "plait/ext/plait/low/back.c" => "int back(void) {\n    return high();\n}\n" }
    assert_equal(["need each other: plait/ext/plait/high, plait/ext/plait/low"], engines(low, high, back).running_back)
    bound = { "plait/ext/plait/low/low.c" => '#include "rb_low.h"', "plait/ext/plait/low/rb_low.h" => "" }
    assert_match(/low.c needs .*rb_low.h, which is above it/, engines(bound).running_back.join)
  end

  def test_circles_of_files_of_c
    one = { "plait/ext/plait/low/one.c" => "int one(void) {\n    return two();\n}\n" }
    two = { "plait/ext/plait/low/two.c" => "int two(void) {\n    return 2; /* one() */\n}\n" }
    assert_empty(engines(one, two).circles_of_files)
    two.transform_values! { |text| text.sub("2;", "one();") }
    assert_equal([%w[plait/ext/plait/low/one.c plait/ext/plait/low/two.c]], engines(one, two).circles_of_files)
  end

  def test_engines_that_know_ruby
    assert_engine("#include <ruby.h>", /includes ruby.h/)
    assert_engine(%(#include "shared.h"), %r{shared.h includes ruby/io.h},
                  "ext/plait/shared.h" => "# include <ruby/io.h>")
    assert_engine("VALUE f(void) { return rb_str_new(0, 0); }", /names VALUE/)
    assert_empty(engine("/* like rb_io_wait */ #include <string.h>", {}))
    assert_empty(Support::House::Engines.new("ext/plait/rb_http1.c" => "#include <ruby.h>").bound_to_ruby)
  end

  def test_ceremony_is_what_wires_files_together
    sample = <<~RUBY
      # frozen_string_literal: true

      require "json"
      # A comment.
      module Plait
        class Small < Error; end

        class Large
          def f
            loop do
              break
            end
          end
          private_constant :X
        end
      end
    RUBY
    ceremony = Support::House::Ceremony.new
    ceremony.add(sample.lines)
    assert_equal([13, 8], [ceremony.code, ceremony.lines])
  end

  def test_a_constant_of_another_gem
    house = house("plait-io/lib/plait/io/pool.rb" => "module Plait; class Pool; Outcome; Pool; String; end; end")
    file = house.files["plait-io/lib/plait/io/pool.rb"]
    assert_equal(["Plait::Outcome"], file.references.filter_map { |reference| house.foreign(file, reference) })
  end

  def test_loading_tells_errors_output_and_company
    Dir.mktmpdir("plait-test-") do |folder|
      bad = write(folder, "bad.rb", "NoSuchConstant")
      loud = write(folder, "loud.rb", "puts 'hello'; {a: 1, a: 2}")
      quiet = write(folder, "quiet.rb", "require 'open3'")
      result = Support::House::Loading.together([bad, loud])
      assert_match(/NameError: uninitialized constant NoSuchConstant/, result[bad].error)
      assert_match(/key :a is duplicated.*hello/m, result[loud].said)
      assert(Support::House::Loading.features(quiet).any? { |path| path.end_with?("open3.rb") })
    end
  end

  private

  def engines(*sources) = Support::House::Engines.new(sources.inject(:merge))

  def house(changes = {}) = Support::House::Blueprint.new(GOOD.merge(changes))

  def assert_complaint(rule, expected, changes)
    complaints = house(changes).public_send(rule)
    assert(complaints.any? do |complaint|
      expected.match?(complaint)
    end, "#{rule} said #{complaints.inspect} of #{changes.inspect}")
  end

  def engine(source, headers)
    Support::House::Engines.new({ "ext/plait/http1.c" => source }.merge(headers)).bound_to_ruby
  end

  def assert_engine(source, expected, headers = {}) = assert_match(expected, engine(source, headers).join("\n"))

  def write(folder, name, source) = File.join(folder, name).tap { |path| File.write(path, source) }
end
