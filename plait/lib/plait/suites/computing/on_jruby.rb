# frozen_string_literal: true

require_relative "../common/suite"
require_relative "../../lab"
require_relative "../../values/deadline"

module Plait
  module Suites
    class Computing < Suite
      # Runs the trials of a row on JRuby: each in a new subprocess, which measures as the lab does where there is no
      # fork, and sends its Measurement back.
      class OnJRuby
        # Until Java has started and the files are loaded, on a slow machine.
        START_SECONDS = 60
        # What a Ruby of this process's kind is told by its environment does not concern the other one.
        ENVIRONMENT = %w[RUBYOPT RUBYLIB GEM_HOME GEM_PATH BUNDLE_GEMFILE].to_h { |name| [name, nil] }.freeze
        ANSWER = "measured "

        # @param jruby [JRuby]
        # @param call [String] Ruby that gives the row's cell, on JRuby
        def initialize(jruby, call)
          @jruby = jruby
          @call = call
        end

        # @param cell [Lab::Cell] the row
        # @param warmup [Integer] passes before the one that counts
        # @param bound [Numeric] seconds after which the trial counts as hung
        # @return [Lab::Measurement]
        def call(cell, warmup:, bound:)
          reader, writer = IO.pipe
          pid = Process.spawn(ENVIRONMENT, *command(warmup), in: File::NULL, %i[out err] => writer, pgroup: true)
          writer.close
          measurement(cell, read(reader, Deadline.after(bound + START_SECONDS)))
        ensure
          finish(pid) if pid
          [reader, writer].each(&:close)
        end

        private

        # Without RubyGems, which take a second there; resolv, which net/http needs, then misses rbconfig.
        def command(warmup)
          library = File.expand_path("../../..", __dir__)
          [*@jruby.command, "--disable=gems", "-I#{library}", "-rrbconfig", "-rplait", "-rplait/suites/computing",
           "-e", script(warmup)]
        end

        def script(warmup)
          "measurement = Plait::Lab::Trial.new(#{@call}, warmup: #{warmup}).run; " \
            "puts %(#{ANSWER}) + [Marshal.dump(measurement)].pack(%(m0))"
        end

        # @return [String, nil] all it has written; nil when it has not ended in time
        def read(reader, deadline)
          text = +""
          while reader.wait_readable(deadline.remaining)
            bytes = reader.read_nonblock(65_536, exception: false) or return text
            text << bytes unless bytes == :wait_readable
          end
          nil
        end

        def measurement(cell, text)
          return failed(cell, "it had no result in time, so its process was killed", :hung) unless text

          line = text.lines.find { |one| one.start_with?(ANSWER) }
          return failed(cell, "JRuby ended without a result: #{reason(text)}", :died) unless line

          load(line).tap { |measurement| measurement.label = cell.label }
        end

        def failed(cell, reason, kind) = Lab::Measurement.failed(cell.label, reason, kind)

        def reason(text)
          lines = text.lines.map(&:strip).reject(&:empty?)
          lines.grep(/Error|Exception/).first || lines.last || "it said nothing"
        end

        # What a process of ours has written.
        def load(line) = Marshal.load(line.delete_prefix(ANSWER).unpack1("m")) # rubocop:disable Security/MarshalLoad

        def finish(pid)
          Process.kill(:KILL, -pid)
        rescue Errno::ESRCH, Errno::EPERM
          nil # it has ended by itself
        ensure
          Process.wait(pid)
        end
      end
    end
  end
end
