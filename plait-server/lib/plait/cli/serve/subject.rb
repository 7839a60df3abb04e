# frozen_string_literal: true

require "plait/mechanisms/processes/forking"
require "plait/process_figures"
require "tempfile"
require_relative "../../server/configuration"
require_relative "../../server/master"

module Plait
  module CLI
    class Serve < Command
      # What a process and its descendants use, as ps(1) tells: for systems without proc(5). The memory is that of
      # each process, so shared pages count several times.
      class Listing
        WORDS = %w[ps -A -o pid=,ppid=,rss=,time=].freeze
        SECONDS_A_DAY = 86_400

        def initialize(pid)
          all = IO.popen(WORDS, &:readlines).map(&:split)
          children = all.group_by { |_, parent| parent.to_i }
          @found = all.select { |number,| number.to_i == pid }
          @found.each { |number,| @found.concat(children.fetch(number.to_i, [])) }
        end

        def pids = @found.map { |pid,| pid.to_i }

        # @return [Integer] bytes
        def memory = @found.sum { |_, _, kilobytes| kilobytes.to_i * 1024 }

        # @return [Float] seconds that they have computed
        def processor_time = @found.sum { |*, time| seconds(time) }

        private

        # @param text [String] as 1-02:03:04, or 03:04.56
        def seconds(text)
          *days, time = text.split("-")
          time.split(":").inject(0.0) { |sum, part| (sum * 60) + part.to_f } + (days.sum(&:to_i) * SECONDS_A_DAY)
        end
      end

      # A server of an app in processes of its own, at a port that the system chooses, to be measured. It ends with the process
      # that started it.
      class Subject
        # Seconds for the app to be loaded, and for the server to end.
        START = 120
        STOP = 10
        # Seconds that running requests have at the end.
        DRAIN = 1
        # Bytes of its standard error that are read.
        LONGEST = 64 * 1024
        PROC = File.exist?("/proc/self/stat")

        # The server did not start, with its reason.
        class Failed < Error; end

        attr_reader :port

        # @param rackup [String] path of a config.ru
        # @param settings [Hash{Symbol => Object}] of a {Server::Configuration}
        def initialize(rackup, settings)
          @rackup = rackup
          @settings = settings
          @log = nameless_file
        end

        # @return [String, nil] the first line on its standard error that is no frame of a backtrace
        def complaint
          @log.pread(LONGEST, 0).scrub.each_line.find { |line| line.match?(/\S/) && !line.start_with?("\t") }&.strip
        rescue EOFError
          nil # nothing was written
        end

        # @return [self] it serves
        def start
          answer, teller = IO.pipe
          alive, @lifeline = IO.pipe
          @pid = Forking.call { serve(teller, alive, [answer, @lifeline]) }
          [teller, alive].each(&:close)
          @port = Integer(heard(answer), 10)
          self
        rescue ArgumentError
          raise Failed, "the server ended as it started"
        ensure
          answer&.close
          stop unless @port
        end

        # @return [Float] seconds that all its processes have computed
        def processor_time = PROC ? pids.sum { |pid| time_of(pid) } : Listing.new(@pid).processor_time

        # @return [Integer] bytes of all its processes; shared pages count once
        def memory = PROC ? pids.sum { |pid| ProcessFigures.share(pid).to_i } : Listing.new(@pid).memory

        # Ends it and waits for its end.
        def stop
          @lifeline&.close
          @log.close
          return unless @pid

          Process.kill(:TERM, @pid) # servers that started later have a copy of the pipe
          ends = Deadline.after(STOP)
          until Process.wait(@pid, Process::WNOHANG)
            kill_all if ends.expired?
            sleep(0.01)
          end
          @pid = nil
        end

        private

        # A file that has had no name is not left behind by a kill. NFS, and Linux before 3.11, have no such files.
        def nameless_file
          File.open(Dir.tmpdir, File::RDWR | File::APPEND | File::TMPFILE, 0o600)
        rescue SystemCallError, NameError
          Tempfile.new("plait-advise", mode: File::APPEND).tap(&:unlink)
        end

        def heard(answer)
          raise Failed, "the app was not loaded within #{START} s" unless answer.wait_readable(START)

          line = answer.gets.to_s.chomp
          line.start_with?("failed ") ? raise(Failed, line.delete_prefix("failed ")) : line
        end

        # In the fork.
        def serve(teller, alive, others)
          others.each(&:close)
          Process.setpgrp # Ctrl-C is for the process that measures
          STDIN.reopen(File::NULL)
          [STDOUT, STDERR].each { |stream| stream.reopen(@log) }
          trap(:TERM, "DEFAULT")
          end_with(alive)
          serve_app { |port| tell(teller, port) }
        rescue StandardError => e
          tell(teller, "failed #{e.message.lines.first}")
        ensure
          exit!(0)
        end

        # @yieldparam port [Integer] when it listens there
        def serve_app
          settings = { rackup: @rackup, binds: ["tcp://127.0.0.1:0"], drain: DRAIN, **@settings }
          master = Server::Master.new(Server::Configuration.of(settings), notice: ->(_) {})
          master.run { |endpoints| yield endpoints.first.port }
        end

        # The pipe is at its end when the measuring process closes it or dies.
        def end_with(alive)
          Thread.new do
            alive.read
            Process.kill(:TERM, Process.pid)
          end
        end

        def tell(teller, line)
          teller.puts(line) unless teller.closed?
          teller.close
        end

        def time_of(pid)
          ProcessFigures.cpu(pid)
        rescue SystemCallError
          0.0 # a worker that has died meanwhile
        end

        def pids = PROC ? [@pid, *ProcessFigures.descendants(@pid)] : Listing.new(@pid).pids

        def kill_all
          pids.reverse_each { |pid| Process.kill(:KILL, pid) }
        rescue SystemCallError
          nil
        end
      end

      # The same app under Puma, where its gem is there: what a user has today.
      class PumaSubject < Subject
        class << self
          # @return [Boolean] with Bundler: whether the bundle has it
          def available?
            Gem::Specification.find_by_name("puma", ">= 6") && true
          rescue Gem::MissingSpecError
            false
          end
        end

        private

        # Without the app's own config/puma.rb, whose threads and workers would be others.
        def serve_app
          require "puma"
          require "puma/configuration"
          require "puma/launcher"
          log = ::Puma::LogWriter.new(File.open(File::NULL, "w"), STDERR)
          launcher = ::Puma::Launcher.new(configuration, log_writer: log, argv: [])
          launcher.events.register(launcher.events.respond_to?(:after_booted) ? :after_booted : :on_booted) do
            yield launcher.connected_ports.first
          end
          launcher.run
        end

        def configuration
          limit, workers, environment = @settings.values_at(:limit, :workers, :environment)
          ::Puma::Configuration.new({ config_files: ["-"] }) do |puma|
            puma.rackup(@rackup)
            puma.bind("tcp://127.0.0.1:0")
            puma.threads(limit, limit)
            puma.workers(workers > 1 ? workers : 0)
            puma.environment(environment) if environment
            puma.force_shutdown_after(DRAIN)
            puma.quiet
          end
        end
      end
    end
  end
end
