# frozen_string_literal: true

require "socket"
require "plait/mechanisms/processes/forking"
require "plait/values/deadline"

module Plait
  class Server
    class Workers
      # One end of the connection between a process and the one that has begun it: messages, each whole or not at all. It
      # ends with the process at its other end, however that has ended.
      class Link
        # Bytes of a message at most.
        MOST = 256 * 1024
        GONE = [:gone].freeze

        # @return [Array(Link, Link)]
        def self.pair = UNIXSocket.pair(:SEQPACKET).map { |socket| new(socket) }

        # @param socket [UNIXSocket]
        def initialize(socket)
          @socket = socket
        end

        # Does not wait: where the other side takes nothing, or is gone, the message is lost.
        # @param message [Array] what Marshal takes
        # @return [void]
        def send(*message)
          @socket.sendmsg_nonblock(Marshal.dump(message), exception: false)
        rescue SystemCallError, IOError
          nil # the other process is gone
        end

        # @param seconds [Numeric, nil] to wait at most; nil: without end
        # @return [Array, nil] a message; nil when there was none; {GONE} when the other side is gone
        def receive(seconds = nil)
          return unless @socket.wait_readable(*seconds)

          bytes = @socket.recv_nonblock(MOST, exception: false)
          return if bytes == :wait_readable

          bytes.to_s.empty? ? GONE : Marshal.load(bytes) # rubocop:disable Security/MarshalLoad -- from our own fork
        rescue SystemCallError, IOError
          GONE
        end

        # @return [Integer] its descriptor
        def number = @socket.fileno

        # @return [void]
        def close = @socket.close
      end

      # A worker, as seen by the process that has begun it.
      class Worker
        HINTS = { "KILL" => " (by hand, or because the machine's memory was used up: see dmesg)" }.freeze
        NOTHING = { counters: {}, gauges: {} }.freeze
        # Seconds of silence that one look adds at most: a parent that was stopped itself has not listened.
        LOOK = 1
        # Seconds to wait for why it has ended, where another process still has its end of the link.
        LAST_WORDS = 5

        # @return [Integer]
        attr_reader :pid
        # @return [Hash] what it has told of itself last: `counters:`, `gauges:` and more
        attr_reader :report
        # @return [Process::Status, nil] when it has ended
        attr_reader :status

        # @param links [Array<Link>] of others, which a fork must not keep open
        # @yieldparam link [Link] in the new process, which is the block's from its beginning to its end
        # @return [Worker]
        # @raise [SystemCallError] when the system gives no process
        def self.begin(links)
          ours, theirs = Link.pair
          pid = Forking.call do
            [ours, *links].each(&:close)
            yield theirs
          end
          new(pid, ours)
        ensure
          theirs&.close
          ours&.close unless pid
        end

        # @param pid [Integer]
        # @param link [Link]
        def initialize(pid, link)
          @pid = pid
          @link = link
          @born = Deadline.now
          @report = NOTHING
          @heard = @born
          @silence = 0
        end

        # @return [Float] seconds for which nothing has come of what it tells once a second
        attr_reader :silence

        # @return [Link]
        attr_reader :link

        # @return [Boolean] whether it serves
        def ready? = @ready || false

        # @return [Float] seconds since its birth
        def age = Deadline.now - @born

        # @return [Hash, nil] for how long its loop stands still, see {Standstill#report}
        def standstill = @report[:standstill]

        # @return [Integer] bytes of its memory, as far as it has told them
        def memory = @report.dig(:gauges, :memory) || 0

        # @return [void]
        def tell(...) = @link.send(...)

        # Takes what it has told.
        # @return [void]
        def hear
          before, @heard = @heard, Deadline.now
          @silence += (@heard - before).clamp(0, LOOK)
          while (message = @link.receive(0)) && message != Link::GONE
            take(*message)
            @silence = 0
          end
        end

        # @return [Boolean] whether it has ended by a {UsageError}
        def misused = @misused || false

        # @return [Boolean] whether it has ended, for whatever reason
        def ended?
          @status ||= Process.wait2(@pid, Process::WNOHANG)&.last
          return false unless @status

          ready? ? hear : hear_out
          true
        end

        # @return [String] why it has ended, in its own words where it has said them
        def obituary
          return @reason if @reason
          return "it ended by itself" if @status.success?
          return "exit status #{@status.exitstatus}" unless @status.signaled?

          name = Signal.signame(@status.termsig)
          "SIG#{name}#{HINTS[name]}"
        end

        # @param seconds [Numeric] until it is {#overdue?}
        # @return [void]
        def end_within(seconds)
          @deadline = Deadline.after(seconds)
        end

        # @return [Boolean]
        def overdue? = @deadline&.expired? || false

        # @param reason [String, nil] for the {#obituary}
        # @return [void]
        def kill(reason = nil)
          @reason ||= reason
          Process.kill(:KILL, @pid) unless @status
        end

        # @return [void]
        def close = @link.close

        private

        # Why it has never served may be told on its behalf, see {Handover}.
        def hear_out
          limit = Deadline.after(LAST_WORDS)
          while (message = @link.receive(limit.remaining)) && message != Link::GONE
            take(*message)
          end
        end

        def take(what, value = nil)
          case what
          when :ready then @ready = true
          when :report then @report = value
          when :failed then @reason, @misused = value
          end
        end
      end
      private_constant :Worker
    end
  end
end
