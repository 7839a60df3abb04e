# frozen_string_literal: true

require_relative "../test_helper"
require "fileutils"
require "open3"
require "tmpdir"

# Runs every example of the guides and of the README: all Ruby blocks of a page, one after another, in one process. A line
# that ends in `# => value` must give that value.
class GuidesTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  PAGES = Dir[File.join(ROOT, "{README.md,guides/**/*.md}")]
  # What a page needs besides Plait.
  NEEDS = { "guides/databases.md" => "sqlite3", "guides/rails.md" => "rails/version" }.freeze
  # From Ruby 3.4 on Hash#inspect has blanks around its arrows, and keys without colons before them.
  PRELUDE = <<~'RUBY'
    def expect(value, expected, place)
      return if value.inspect == expected
      return if RUBY_VERSION >= "3.4" && value.inspect == expected.gsub(/:(\w+)=>/, '\\1: ').gsub("=>", " => ")
      $stderr.puts("#{place}: gives #{value.inspect}, the page says #{expected}")
      exit!(1)
    end
  RUBY

  PAGES.each do |page|
    name = page.delete_prefix("#{ROOT}/")
    blocks = File.read(page).scan(/^```ruby\n(.*?)^```$/m)
    next if blocks.empty?

    define_method("test_#{name}") do
      need(NEEDS[name])
      run_page(page, name)
    end
  end

  # Names such as `http/client.rb`, read below the lib/plait of any gem. NAME and the tasks' own files are no files of ours.
  NO_FILES = %w[db/memory.rb suites/squares.rb commands/hello.rb].freeze
  FILE_NAME = %r{(?<![\w./])(?:\.\./)?((?:[\w-]+/)*[a-z]\w*\.(?:rb|c|h|txt))\b}

  def test_files_that_the_internals_name_exist
    page = File.read(File.join(ROOT, "guides/internals.md")).gsub(/^```ruby\n.*?^```$/m, "")
    files = Dir["{plait*,test}/**/*.{rb,c,h,txt}", base: ROOT].map { |path| "/#{path}" }
    missing = page.scan(FILE_NAME).flatten.uniq.reject { |name| files.any? { |path| path.end_with?("/#{name}") } }
    assert_empty(missing - NO_FILES)
  end

  def test_a_wrong_value_is_found
    page = File.join(Dir.mktmpdir, "wrong.md")
    File.write(page, "```ruby\n[1,\n 2].sum # => 4\n```\n")
    error = assert_raises(Minitest::Assertion) { run_page(page, "wrong.md") }
    assert_match(/wrong.md:3: gives 3, the page says 4/, error.message)
  ensure
    FileUtils.rm_r(File.dirname(page))
  end

  private

  def need(gem)
    require gem if gem
  rescue LoadError
    skip("the gem #{gem} is not installed: bin/setup test drivers")
  end

  def run_page(page, name)
    program = PRELUDE + Example.new(page, name).program
    Dir.mktmpdir("plait-test-") do |folder|
      out, status = Open3.capture2e(RbConfig.ruby, "-W0", *Support::FLAGS, "-e", program, chdir: folder)
      refused = out[/on: :\w+ can't be used here: Ruby .*/] # its bugs: see guides/rubies.md
      skip(refused) if refused
      assert_predicate(status, :success?, out)
    end
  end

  # A page as a program.
  class Example
    EXPECTATION = /\A(?<code>.*\S)\s+# => (?<value>.+)\z/

    def initialize(page, name)
      @lines = File.readlines(page, chomp: true)
      @name = name
    end

    # @return [String] with a check for each line that ends in `# => value`; its expression may begin some lines above
    def program
      pending = []
      numbered_code.filter_map { |line, number| translate(line, number, pending) }.join("\n")
    end

    private

    def numbered_code
      inside = false
      @lines.each.with_index(1).select do |line, _|
        fence = line.start_with?("```")
        inside = line == "```ruby" if fence
        inside && !fence
      end
    end

    def translate(line, number, pending)
      match = EXPECTATION.match(line)
      pending << (match ? match[:code] : line)
      return unless complete?(pending)

      code = pending.join("\n")
      pending.clear
      match ? "expect((#{code}), #{match[:value].inspect}, #{"#{@name}:#{number}".inspect})" : code
    end

    def complete?(lines)
      RubyVM::InstructionSequence.compile(lines.join("\n")) && true
    rescue SyntaxError
      false
    end
  end
end
