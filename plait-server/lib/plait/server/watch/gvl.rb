# frozen_string_literal: true

module Plait
  class Server
    class Watch
      # How long a request waited for Ruby's lock while it was run: on threads others compute meanwhile. Ruby tells extensions
      # since 3.2; the gem gvltools makes that a method. Where it is loaded, and its LocalTimer enabled, this is there. On fibers,
      # which share a thread, it is what the thread has waited meanwhile.
      class Gvl
        NANOSECONDS = 1e9

        # @param timer [#monotonic_time, nil]
        def initialize(timer = Gvl.timer)
          @timer = timer
          @total = 0.0
          @lock = Mutex.new
        end

        # @return [#monotonic_time, nil] GVLTools::LocalTimer, enabled
        def self.timer
          return unless defined?(::GVLTools::LocalTimer) && ::GVLTools::LocalTimer.respond_to?(:monotonic_time)

          ::GVLTools::LocalTimer if !::GVLTools::LocalTimer.respond_to?(:enabled?) || ::GVLTools::LocalTimer.enabled?
        end

        # @param env [Hash]
        # @return [void]
        def begin(env)
          env["plait.gvl"] = @timer.monotonic_time if @timer
        end

        # @param env [Hash] in which `plait.gvl_wait` are seconds then
        # @return [void]
        def finish(env)
          before = env.delete("plait.gvl") or return
          seconds = env["plait.gvl_wait"] = [@timer.monotonic_time - before, 0].max / NANOSECONDS
          @lock.synchronize { @total += seconds }
        end

        # @return [Float] seconds, of all requests
        attr_reader :total
      end
    end
  end
end
