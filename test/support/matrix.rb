# frozen_string_literal: true

require_relative "matrix/chroot"
require_relative "matrix/installed"
require_relative "matrix/jruby"

module Support
  # The tests on every Ruby that is found, one after another.
  class Matrix
    # @param root [String] the folder of the project
    # @param arguments [Array<String>] of bin/test
    def initialize(root, arguments, out: $stdout)
      @root = root
      @arguments = arguments
      @out = out
    end

    # @return [Boolean] whether all passed, and there was one
    def call
      rubies = chosen
      return none_found if rubies.empty?

      results = rubies.to_h { |ruby| [ruby.name, run(ruby)] }
      @out.puts("", *results.map { |name, passed| format("%-24s %s", name, passed ? "passed" : "FAILED") })
      results.values.all?
    end

    private

    def found = [*Installed.all, *Chroot.all, *Jruby.all(@root)]

    def chosen
      names = ENV.fetch("PLAIT_MATRIX", "").split(",")
      found.select { |ruby| names.empty? || names.any? { |name| ruby.name.include?(name) } }
    end

    def run(ruby)
      @out.puts("", "== #{ruby.name}")
      @out.flush
      ruby.test(Workspace.new(@root, ruby.name).update, @arguments)
    end

    def none_found
      @out.puts("no other Ruby is found here. PLAIT_RUBIES=/path/to/bin/ruby names one, PLAIT_CHROOT=/path a system " \
                "that has one; a Java is all that JRuby needs.")
      false
    end
  end
end
