# frozen_string_literal: true

require "socket"
require_relative "attempt"
require_relative "failure"
require_relative "../readiness"
require "plait/values/deadline"

module Plait
  module Io
    class Connector
      # Happy Eyeballs (RFC 8305): the addresses of both families by turns, one more each time the stagger has passed or
      # an attempt has failed; the first that is connected wins, the others are closed.
      class Race
        # @param addresses [Array<Addrinfo>] in the order of preference
        # @param stagger [Numeric] seconds
        # @param deadline [Deadline, nil]
        def initialize(endpoint, addresses, options, stagger, deadline)
          @endpoint = endpoint
          @waiting = interleave(addresses)
          @options = options
          @stagger = stagger
          @deadline = deadline
          @running = []
          @errors = []
        end

        # @param phases [Phases]
        # @return [Socket]
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
          winner || (first_of(Readiness.writable(@running.map(&:socket), patience)) if @running.any?)
        end

        def start? = @waiting.any? && (@running.empty? || @failed || @next.expired?)

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

        # @return [Attempt, nil]
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
    end
  end
end
