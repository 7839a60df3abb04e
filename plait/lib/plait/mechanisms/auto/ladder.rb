# frozen_string_literal: true

module Plait
  module Mechanisms
    class Auto < Mechanism
      # A kind of workers, and how many of them work at once.
      Level = Struct.new(:kind, :limit)

      # What was measured at a level: items a second, and processors that the program kept busy meanwhile.
      Window = Struct.new(:level, :items, :rate, :busy) do
        # @return [Float] seconds of processor time for an item
        def work = busy / [rate, 1e-9].max
      end

      # A window beside that of another level, and how many times as many items it gave.
      Trial = Struct.new(:base, :window, :ratio)

      # The levels that may be tried beside a given one.
      class Ladder
        # Threads from which fibers are tried first: more threads cost memory, whatever their speed.
        MANY = 64
        # Fewer fibers than these gain nothing over threads.
        SOME = 4
        # Part of a processor from which the workers are what takes the time, so that cheaper ones may gain something.
        BUSY = 0.6
        # Processes and ractors that are tried at first for each processor: more of them where items also wait.
        EACH = 4
        # Descriptors that the program may open for each of them: one needs 5, and during a try half as many run beside them.
        FILES = 16
        # What shares no memory with the caller, and works alone.
        APART = %i[processes ractors].freeze

        # @return [Boolean] whether threads, of which there are not so many, are worth a look only after fewer fibers
        def self.far?(level) = level.kind == :fibers && level.limit > MANY

        # @return [Level] where a run begins
        attr_reader :first

        # @param among [Array<Symbol>] mechanisms
        # @param cap [Integer] items in flight at most
        def initialize(among, cap, processors)
          @cap = cap
          @processors = processors
          @most = { threads: threads(among), fibers: among.intersect?(%i[fibers hybrid]) ? cap : 0 }
          @apart = APART & among
          @most.default = [cap, MANY, (Process.getrlimit(:NOFILE).first / FILES if @apart.any?)].compact.min
          @refused = {}
          @first = %i[threads fibers].find { |kind| @most[kind].positive? }&.then { |kind| Level.new(kind, 1) } || apart(1)
        end

        # Kinds that lost are tried again.
        def forgive = @refused.clear

        def refuse(kind) = @refused[kind] = true

        # There are no more of this kind.
        def cap(level) = @most[level.kind] = level.limit

        # @param direction [Symbol] :up, :aside or :down
        # @param busy [Float] processors that were busy at the level
        def step(direction, from, busy)
          case direction
          when :up then up(from)
          when :aside then aside(from, busy)
          else down(from)
          end
        end

        # @return [Level, nil] the next one, while nothing is measured
        def double(from)
          level = up(from)
          level if level && level.limit <= MANY
        end

        private

        def threads(among)
          return @cap if among.include?(:threads)

          among.include?(:sequence) ? 1 : 0
        end

        def up(from)
          limit = [from.limit * 2, @most[from.kind]].min
          return Level.new(from.kind, limit) if limit > from.limit && !(limit > MANY && fibers?(from))

          Level.new(:fibers, 2) if from.kind == :threads && @most[:threads] == 1 && fibers?(from) && @cap > 1
        end

        def aside(from, busy)
          return if @apart.include?(from.kind)

          (apart(from.limit * 2) if held_up?(from, busy)) || (from.kind == :fibers ? back(from) : cheaper(from, busy))
        end

        # Few at once and an idle processor: what waits may hold the lock.
        def held_up?(from, busy) = busy >= BUSY || from.limit <= SOME

        def cheaper(from, busy)
          Level.new(:fibers, from.limit) if fibers?(from) && from.limit >= SOME && (busy >= BUSY || from.limit >= MANY)
        end

        def back(from)
          limit = [from.limit, @most[:threads], MANY].min
          Level.new(:threads, limit) if limit.positive? && !@refused[:threads]
        end

        def down(from)
          half = from.limit / 2
          return half < @processors ? shared : Level.new(from.kind, half) if @apart.include?(from.kind)
          return if half.zero?

          from.kind == :fibers && half < SOME && @most[:threads] >= half ? Level.new(:threads, half) : Level.new(from.kind, half)
        end

        def shared = (@first unless @apart.include?(@first.kind))

        def fibers?(from) = from.kind == :threads && @most[:fibers].positive? && !@refused[:fibers]

        # @param limit [Integer] that may be too small, or too large, for the processors
        def apart(limit)
          kind = @apart.find { |one| !@refused[one] }
          limit = [limit.clamp(@processors, @processors * EACH), @cap].min
          Level.new(kind, limit) if kind && (limit > 1 || @most.each_value.none?(&:positive?))
        end
      end
    end
  end
end
