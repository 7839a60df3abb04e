# frozen_string_literal: true

require_relative "matrix/chroot"
require_relative "matrix/debian"
require_relative "matrix/installed"
require_relative "matrix/jruby"
require_relative "matrix/run"
require_relative "matrix/table"

module Support
  # The tests on every Ruby that is found, one after another.
  class Matrix
    # What people run.
    WANTED = ["ruby 3.1", "ruby 3.2", "ruby 3.3", "ruby 3.4", "ruby 4.0", "jruby 9.4", "jruby 10"].freeze
    # EX_TEMPFAIL of sysexits.h
    CUT = 75

    # @param root [String] the folder of the project
    # @param arguments [Array<String>] of bin/test
    def initialize(root, arguments, out: $stdout)
      @root = root
      @arguments = arguments
      @out = out
    end

    # @return [Integer] the exit status: 0 where all passed and there was one, CUT where nothing failed in the allowed time
    def call
      rubies = chosen
      return none_found if rubies.empty?

      rows = rubies.map { |ruby| run(ruby) }
      Table.new(rows, missing(rubies)).print(@out)
      return 1 unless rows.all? { |row| row.ok? || row.cut? }

      rows.all?(&:ok?) ? 0 : CUT
    end

    # Makes the systems that the chosen Rubies need.
    # @return [Integer] the exit status: 0 where all are there now
    def prepare
      rubies = chosen
      return none_found if rubies.empty?

      rubies.map { |ruby| ready(ruby) { |reason| @out.puts("#{ruby.name}: #{reason}") } }.all? ? 0 : 1
    end

    # What can be made is for the kinds of which no Ruby is here.
    # @return [Array<#name, #test>]
    def chosen(found = self.found)
      here, spare = found.partition(&:here?)
      names = ENV.fetch("PLAIT_MATRIX", "").split(",")
      [*here, *spare.reject { |ruby| here.any? { |one| kind(one) == kind(ruby) } }]
        .select { |ruby| names.empty? || names.any? { |name| ruby.name.include?(name) } }
    end

    private

    def found = [*Installed.all, *Chroot.all, *Jruby.all(@root), *Debian.all(File.join(@root, "tmp/matrix/systems"))]

    def kind(ruby) = WANTED.find { |kind| ruby.name.match?(/\A#{Regexp.escape(kind)}(?!\d)/) } || ruby.name

    def missing(rubies) = ENV["PLAIT_MATRIX"] ? [] : WANTED - rubies.map { |ruby| kind(ruby) }

    def run(ruby)
      @out.puts("", "== #{ruby.name}")
      @out.flush
      failed = nil
      ready(ruby) { |reason| failed = Row.new(ruby.name, remark: reason) }
      failed || ruby.test(Workspace.new(@root, ruby.name).update, @arguments, Run.new(ruby.name, @out))
    end

    # @yieldparam reason [String] why it can't be run
    def ready(ruby)
      ruby.prepare
      true
    rescue Debian::Failed, Setup::Failed => e
      yield e.message
      false
    end

    def none_found
      @out.puts("no such Ruby is found here. PLAIT_RUBIES=/path/to/bin/ruby names one, PLAIT_CHROOT=/path a system " \
                "that has one; a Java is all that JRuby needs. root and debootstrap make systems of Debian.")
      1
    end
  end
end
