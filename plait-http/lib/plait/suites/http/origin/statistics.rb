# frozen_string_literal: true

module Plait
  module Suites
    class Origin
      # What the origin has seen: enough to prove from outside how many requests were really in flight at once.
      class Statistics
        COUNTS = %i[served malformed accepted connections peak_connections in_flight peak_in_flight body_bytes].freeze

        # A client that gives each request a row of its own must not fill the memory.
        MOST_ROWS = 1_000

        # The requests that were sent under one name.
        Row = Struct.new(:served, :in_flight, :peak_in_flight) do
          def initialize = super(0, 0, 0)

          def began
            self.in_flight += 1
            self.peak_in_flight = in_flight if in_flight > peak_in_flight
          end

          def ended(served)
            self.in_flight -= 1
            self.served += 1 if served
          end
        end

        def initialize
          @lock = Mutex.new
          @counts = COUNTS.to_h { |name| [name, 0] }
          @rows = {}
        end

        # A connection was accepted.
        def connected
          @lock.synchronize do
            @counts[:accepted] += 1
            raise_level(:connections, :peak_connections)
          end
        end

        # A connection is gone.
        def disconnected = @lock.synchronize { @counts[:connections] -= 1 }

        # A request's head is complete.
        # @param row [String, nil] the name under which it wants to be counted besides
        def began(row = nil)
          @lock.synchronize do
            raise_level(:in_flight, :peak_in_flight)
            row_of(row).began if row
          end
        end

        # A request is over.
        # @param body_bytes [Integer, nil] what was sent; nil when the client went away before
        # @param row [String, nil] as it began
        def ended(body_bytes, row = nil)
          @lock.synchronize do
            @counts[:in_flight] -= 1
            row_of(row).ended(body_bytes) if row
            next unless body_bytes

            @counts[:served] += 1
            @counts[:body_bytes] += body_bytes
          end
        end

        # A request could not be understood.
        def malformed = @lock.synchronize { @counts[:malformed] += 1 }

        # Forgets what is over: sums become 0, peaks fall to what is there now.
        def reset
          @lock.synchronize do
            %i[served malformed accepted body_bytes].each { |name| @counts[name] = 0 }
            @counts[:peak_connections] = @counts[:connections]
            @counts[:peak_in_flight] = @counts[:in_flight]
            @rows.clear
          end
        end

        # @return [Hash] the counts, those of the `rows`, and the `cpu_seconds` the process has used
        def to_h
          @lock.synchronize { @counts.merge(rows: @rows.transform_values(&:to_h)) }
               .merge(cpu_seconds: Process.times.then { |times| times.utime + times.stime })
        end

        private

        def row_of(name)
          @rows.clear if @rows.size >= MOST_ROWS && !@rows.key?(name)
          @rows[name] ||= Row.new
        end

        def raise_level(level, peak)
          @counts[level] += 1
          @counts[peak] = @counts[level] if @counts[level] > @counts[peak]
        end
      end
    end
  end
end
