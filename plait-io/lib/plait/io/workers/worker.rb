# frozen_string_literal: true

require "socket"
require "plait/mechanisms/processes/forking"

module Plait
  module Io
    class Workers
      # One end of the connection between a worker and its parent: messages, each whole or not at all. It ends when the
      # process at the other end does.
      class Link
        # Bytes of a message at most.
        MOST = 256 * 1024
        GONE = [:gone].freeze

        def self.pair
          UNIXSocket.pair(:SEQPACKET).map { |socket| new(socket) }
        rescue Errno::EPROTONOSUPPORT # macOS, where a datagram socket tells the end of its peer, too
          UNIXSocket.pair(:DGRAM).map { |socket| new(socket) }
        end

        def initialize(socket)
          @socket = socket
        end

        # Does not wait: a message to a process that is gone, or reads nothing, is lost.
        # @param message [Array] what Marshal takes
        # @return [Object] false when it is too large
        def send(*message)
          bytes = Marshal.dump(message)
          bytes.bytesize <= MOST && @socket.sendmsg_nonblock(bytes, exception: false)
        rescue Errno::EMSGSIZE
          false
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

        def close = @socket.close
      end

      # A worker, as its parent sees it.
      class Worker
        HINTS = { "KILL" => " (by hand, or because the machine's memory was used up: see dmesg)" }.freeze
        NOTHING = { counters: {}, gauges: {} }.freeze
        # Seconds of silence that one look adds at most, since a parent that was stopped itself heard nothing.
        LOOK = 1
        # Seconds to wait for why it has ended, where another process still has its end of the link.
        LAST_WORDS = 5

        attr_reader :pid, :link
        # @return [Hash] its last report: `counters:`, `gauges:` and more
        attr_reader :report
        # @return [Process::Status, nil] when it has ended
        attr_reader :status

        # @param links [Array<Link>] of others, which a fork must not keep open
        # @yieldparam link [Link] in the new process, which is the block's from its beginning to its end
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

        def initialize(pid, link)
          @pid = pid
          @link = link
          @born = Deadline.now
          @report = NOTHING
          @heard = @born
          @silence = 0
          @requests = []
        end

        # @return [Float] seconds without a report; one comes each second
        attr_reader :silence

        # @return [Boolean] whether it serves
        def ready? = @ready || false

        # @return [Float] seconds since its birth
        def age = Deadline.now - @born

        # @return [Hash, nil] for how long its loop stands still, see {Standstill#report}
        def standstill = @report[:standstill]

        # @return [Integer] bytes of its memory, by its last report
        def memory = @report.dig(:gauges, :memory) || 0

        def tell(...) = @link.send(...)

        # @return [Array<Array>] requests to its parent: `[:stop, seconds]`, `[:total, number]`
        attr_reader :requests

        # @param moment [Float] that was sent with `:report`
        # @return [Boolean] whether its report is newer; true where no report can come
        def reported?(moment) = !ready? || !@status.nil? || (@asked && @asked >= moment)

        # Takes its messages.
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

        # @return [String] why it has ended, in its own words where it sent them
        def obituary
          return @reason if @reason
          return "it ended by itself" if @status.success?
          return "exit status #{@status.exitstatus}" unless @status.signaled?

          name = Signal.signame(@status.termsig)
          "SIG#{name}#{HINTS[name]}"
        end

        # @param seconds [Numeric] until it is {#overdue?}
        def end_within(seconds) = @deadline = Deadline.after(seconds)

        def overdue? = @deadline&.expired? || false

        # @param reason [String, nil] for the {#obituary}
        def kill(reason = nil)
          @reason ||= reason
          Process.kill(:KILL, @pid) unless @status
        end

        def close = @link.close

        private

        # Another process may send why it has never served, see Server::Handover.
        def hear_out
          limit = Deadline.after(LAST_WORDS)
          while (message = @link.receive(limit.remaining)) && message != Link::GONE
            take(*message)
          end
        end

        def take(what, value = nil, asked = nil)
          case what
          when :ready then @ready = true
          when :report
            @report = value
            @asked = asked if asked
          when :failed then @reason, @misused = value
          when :stop, :total then @requests << [what, value]
          end
        end
      end
    end
  end
end
