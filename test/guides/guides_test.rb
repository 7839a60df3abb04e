# frozen_string_literal: true

require_relative "../test_helper"
require "open3"

# Runs every example of the guides and of the README: all Ruby blocks of a page, one after another, in one process. A line
# that ends in `# => value` must give that value.
class GuidesTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  PAGES = Dir[File.join(ROOT, "{README.md,guides/**/*.md}")]
  PRELUDE = <<~RUBY
    def expect(value, expected, place)
      return if value.inspect == expected
      warn("\#{place}: gives \#{value.inspect}, the page says \#{expected}")
      exit!(1)
    end
  RUBY

  PAGES.each do |page|
    name = page.delete_prefix("#{ROOT}/")
    blocks = File.read(page).scan(/^```ruby\n(.*?)^```$/m)
    next if blocks.empty?

    define_method("test_#{name}") { run_page(page, name) }
  end

  def test_there_are_examples
    assert_operator(PAGES.size, :>=, 5)
  end

  private

  def run_page(page, name)
    program = PRELUDE + Example.new(page, name).program
    out, status = Open3.capture2e(RbConfig.ruby, "-W0", "-I#{File.join(ROOT, "lib")}", "-e", program, chdir: Dir.tmpdir)
    assert_predicate(status, :success?, out)
  end

  # A page as a program.
  class Example
    EXPECTATION = /\A(?<code>.*\S)\s+# => (?<value>.+)\z/

    def initialize(page, name)
      @lines = File.readlines(page, chomp: true)
      @name = name
    end

    # What ends in `# => value` is one expression; it may begin some lines above.
    def program
      inside = false
      pending = []
      @lines.each_with_index.filter_map do |line, index|
        next inside = true && nil if line == "```ruby"
        next inside = false && nil if line == "```"

        translate(line, index, pending) if inside
      end.join("\n")
    end

    private

    def translate(line, index, pending)
      match = EXPECTATION.match(line)
      pending << (match ? match[:code] : line)
      return unless complete?(pending)

      code = pending.join("\n")
      pending.clear
      match ? "expect((#{code}), #{match[:value].inspect}, #{"#{@name}:#{index + 1}".inspect})" : code
    end

    def complete?(lines)
      RubyVM::InstructionSequence.compile(lines.join("\n")) && true
    rescue SyntaxError
      false
    end
  end
end
