# frozen_string_literal: true

require "open3"

module RedisSuite
  # One file of the suite, run against a server that is there already.
  class Unit
    # Seconds without progress until a unit is given up.
    PATIENCE = 120
    # They keep the server busy until they have killed their script, or leave a transaction open or a limit set where they fail:
    # what comes behind them would fail with them. Or they wait for what never comes.
    SPOILERS = "/[Tt]imedout.*script|script timeout|kill a timedout|test (function|script) kill" \
               "|DISCARD should not fail during OOM|EXEC is not logged, just|MULTI propagation of" \
               "|exec with write commands and state change|Flushall while watching" \
               "|EXEC with (only read commands|at least one use-memory)|Keyspace notifications"
    # Tests that may hang until a unit is given up.
    HUNG = 5
    COLOURS = /\e\[[\d;]*m/
    private_constant :SPOILERS, :HUNG, :COLOURS

    # @return [String] as in "unit/type/list"
    attr_reader :name

    # @param source [String] a copy of the suite, see {Source#copy_to}
    # @return [Array<String>] the names of all units
    def self.names(source)
      Open3.capture2("tclsh", "tests/test_helper.tcl", "--list-tests", chdir: source).first.split
    end

    # @param source [String]
    # @param arguments [Array<String>] further ones for the suite
    def initialize(source, name, arguments = [])
      @source = source
      @name = name
      @arguments = arguments
    end

    # A test that hangs ends the unit, which is then run again without it. What raises outside of a test ends it, too: the tests
    # behind that have no verdict.
    # @param spoilers [Boolean] whether those are run that spoil others where they fail
    # @param skipped [Array<String>] names of tests, or patterns as the suite has them
    # @yield is given a block for each run; it is to call it with the port of a server
    # @return [Hash{String => String, nil}] of each test that was run: nil, or why it failed
    def run(spoilers: true, skipped: spoilers ? [] : [SPOILERS], &server)
      output = server.call { |port| attempt(port, skipped) }
      found = verdicts(output)
      hung = output[/\(IN PROGRESS\) (.+)$/, 1]
      return found unless hung && skipped.size < HUNG

      run(skipped: [*skipped, hung], &server).merge(hung => "it hung")
    end

    private

    def attempt(port, skipped)
      output, = Open3.capture2e("tclsh", "tests/test_helper.tcl", "--host", "127.0.0.1", "--port", port.to_s, "--cluster-mode",
                                "--singledb", "--durable", "--clients", "1", "--timeout", PATIENCE.to_s, "--single", @name,
                                *skipped.flat_map { |test| ["--skiptest", test] }, *@arguments, chdir: @source)
      output.scrub.gsub(COLOURS, "")
    end

    def verdicts(output)
      report = output[/.*?(?=^\s+The End$)/m] || output
      report.split(/^(?=\[\w+\]: )/).each_with_object({}) do |piece, all|
        case piece
        when /\A\[ok\]: (.*) \(\d+ ms\)$/ then all[unique(all, Regexp.last_match(1))] = nil
        when /\A\[err\]: (.*?) in tests\S+\n?(.*)/m then all[unique(all, Regexp.last_match(1))] = Regexp.last_match(2).strip
        when /\A\[(?:exception|TIMEOUT)\]:? ?(.*)/m then all["(the unit ended)"] = Regexp.last_match(1).strip
        end
      end
    end

    # Several tests of a unit may have one name.
    def unique(all, name)
      (1..).lazy.map { |count| count == 1 ? name : "#{name} ##{count}" }.find { |one| !all.key?(one) }
    end
  end
end
