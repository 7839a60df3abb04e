# frozen_string_literal: true

require_relative "../native"
require "plait/mechanisms/readiness"

module Plait
  module Io
    class Connector
      # Happy Eyeballs (RFC 8305): the addresses of both families by turns, one more each time the stagger has passed or
      # an attempt has failed; the first that is connected wins, the others are closed.
      class Race
        # @param addresses [Array<Addrinfo>] in the order of preference
        # @param stagger [Numeric] seconds
        def initialize(endpoint, addresses, options, stagger, deadline)
          @endpoint = endpoint
          @waiting = interleave(addresses)
          @options = options
          @stagger = stagger
          @deadline = deadline
          @running = []
          @errors = []
        end

        # @raise [ConnectError] when every address has failed
        # @raise [ConnectTimeout]
        def run(phases)
          until (winner = step)
            raise Failure.error(@endpoint, @errors) if @waiting.empty? && @running.empty?
            raise Failure.timeout(@endpoint, @errors) if @deadline&.expired?
          end
          winner.take(phases)
        ensure
          @running.each(&:close)
        end

        private

        # §4: the families alternate, beginning with the preferred one.
        def interleave(addresses)
          first, second = addresses.group_by(&:afamily).values
          return first unless second

          rows = [first.size, second.size].max
          Array.new(rows) { |row| [first[row], second[row]] }.flatten.compact
        end

        # @return [Attempt, nil] the one that is connected
        def step
          winner = start_next if start?
          winner || (first_of(writable) if @running.any?)
        end

        def start? = @waiting.any? && (@running.empty? || @failed || @next.expired?)

        def writable = Readiness.wait([], @running.map(&:socket), patience)&.at(1) || []

        def start_next
          address = @waiting.shift
          @failed = false
          @next = Deadline.after(@stagger)
          @running << (attempt = Attempt.new(address.afamily, address.to_sockaddr, @options))
          judge(attempt, :start)
        end

        def first_of(sockets)
          ready = @running.select { |attempt| sockets.include?(attempt.socket) }
          ready.each { |attempt| judge(attempt, :proceed) and return attempt }
          nil
        end

        def judge(attempt, step)
          attempt if attempt.public_send(step)
        rescue SystemCallError => e
          @running.delete(attempt)
          attempt.close
          @errors << e
          @failed = true
          nil
        end

        # Seconds until something else than a socket wants attention; nil: never.
        def patience = [(@next.remaining if @waiting.any?), @deadline&.remaining].compact.min
      end

      # A socket on its way to one address.
      class Attempt
        # Seconds until a UNIX socket whose backlog is full is asked again: there is nothing to wait for.
        PAUSE = 0.005

        # @return [Socket, nil] nil once it was taken or closed
        attr_reader :socket

        # @param sockaddr [String] packed
        def initialize(family, sockaddr, options)
          @family = family
          @sockaddr = sockaddr
          @options = options
        end

        # @return [Boolean] whether it is connected already
        # @raise [SystemCallError]
        def start
          Uninterruptible.run { @socket = Socket.new(@family, Socket::SOCK_STREAM, 0) }
          @options.apply(@socket, @family)
          Native.available? ? begin_natively : proceed
        end

        # @return [Boolean] whether it is connected
        # @raise [SystemCallError] why it can't be
        def proceed = @socket.connect_nonblock(@sockaddr, exception: false) == 0

        # Starts, and waits for the end.
        # @return [Boolean] whether it is connected, and the deadline has not passed
        # @raise [SystemCallError]
        def connect(deadline)
          connected = start
          until connected
            return false unless @socket.wait_writable(deadline&.remaining)

            connected = proceed
          end
          true
        rescue Errno::EAGAIN
          return false if deadline&.expired?

          close
          sleep(PAUSE)
          retry
        end

        # @param phases [Phases] the new owner
        def take(phases)
          Uninterruptible.run do
            phases.socket = @socket
            @socket = nil
          end
          phases.socket
        end

        def close
          @socket&.close
          @socket = nil
        end

        private

        # Looks a second time before it waits.
        def begin_natively
          errno = NativeConnect.begin(@socket, @sockaddr) or return false
          return true if errno.zero?

          raise SystemCallError.new("connect(2) for #{Addrinfo.new(@sockaddr).inspect_sockaddr}", errno)
        end
      end

      # Says why there is no connection.
      module Failure
        # What the system's own words don't tell.
        ADVICE = {
          Errno::ECONNREFUSED => "nothing listens there",
          Errno::ENOENT => "there is no such socket file",
          Errno::EACCES => "the file's or the firewall's rules forbid it",
          Errno::EMFILE => "this process may open no more descriptors: raise `ulimit -n`, or connect to fewer at once",
          Errno::ENFILE => "this machine can open no more descriptors: raise fs.file-max, or connect to fewer at once",
          Errno::EADDRNOTAVAIL => "no local port is left, or the source address is not this machine's",
          Errno::ENETUNREACH => "this machine has no route to it",
          Errno::EHOSTUNREACH => "no machine answers at this address"
        }.freeze

        module_function

        # @param errors [Array<SystemCallError>] one for each address
        def error(endpoint, errors)
          reasons = errors.map { |error| reason(error) }.uniq
          ConnectError.new("can't connect to #{endpoint}: #{reasons.join("; ")}", endpoint: endpoint, causes: errors)
        end

        # @param errors [Array<SystemCallError>] of the addresses that have failed by then
        def timeout(endpoint, errors = [])
          failed = errors.map { |error| "; #{reason(error)}" }.uniq.join
          ConnectTimeout.new("no connection to #{endpoint} in time#{failed}", endpoint: endpoint, phase: :connect)
        end

        def reason(error)
          advice = ADVICE[error.class]
          where = error.message[/ for (.*)\z/, 1]
          ["#{error.class.new.message}#{" (#{where})" if where}", advice].compact.join(": ")
        end
      end
    end
  end
end
