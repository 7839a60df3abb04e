# frozen_string_literal: true

require_relative "../configuration"

module Plait
  class Server
    class ConfigFile
      # Words about the app and the processes that run it.
      module ProcessWords
        # @param path [String] of the config.ru
        # @return [void]
        def rackup(path) = @settings[:rackup] = text(:rackup, path)

        # @param path [String] to go to first; a symbolic link is followed anew whenever the workers are replaced
        # @return [void]
        def directory(path) = @settings[:directory] = text(:directory, path)

        # @param name [String] for RACK_ENV, and RAILS_ENV where that is not set
        # @return [void]
        def environment(name) = @settings[:environment] = text(:environment, name)

        # @param number [Integer, String] 0: this process serves; auto: as many as there are processors
        # @return [void]
        def workers(number)
          number = number.to_s == "auto" ? "auto" : count(:workers, number, from: 0)
          located { Configuration.of({ workers: number }).worker_count }
          @settings[:workers] = number
        end

        # Whether the app is loaded once, before the workers are begun, which then share its memory; else in each of them.
        # @return [void]
        def preload_app!(value = true) # rubocop:disable Style/OptionalBooleanParameter -- Puma's
          @settings[:preload] = answer(:preload_app!, value)
        end

        # @param amount [Integer, String] megabytes, or "512MB": above it a worker is replaced
        # @return [void]
        def worker_memory(amount) = @settings[:worker_memory] = bytes(:worker_memory, amount)

        # Called once, with the app loaded, before the first worker is begun.
        # @return [void]
        def before_fork(&block) = @settings[:before_fork] << hook(:before_fork, block)

        # Called in each worker with its index, before it serves.
        # @return [void]
        def on_worker_boot(&block) = @settings[:on_boot] << hook(:on_worker_boot, block)
        alias on_boot on_worker_boot
        alias before_worker_boot on_worker_boot

        # Called in each worker with its index, when it has served.
        # @return [void]
        def on_worker_shutdown(&block) = @settings[:on_shutdown] << hook(:on_worker_shutdown, block)
        alias before_worker_shutdown on_worker_shutdown

        # @param number [Numeric] seconds in which a worker must be ready, from its beginning: then it is killed
        # @return [void]
        def worker_boot_timeout(number) = @settings[:boot_timeout] = seconds(:worker_boot_timeout, number)

        # @param number [Numeric] seconds after which a worker that says nothing, or whose event loop stands still, is killed and
        #   replaced: it is stopped, something in it keeps Ruby's lock, or a request on fibers never waits
        # @return [void]
        def worker_timeout(number) = @settings[:worker_timeout] = seconds(:worker_timeout, number)

        # @param number [Numeric] seconds, at the end, for requests that were begun
        # @return [void]
        def drain(number) = @settings[:drain] = time(:drain, number)
        alias worker_shutdown_timeout drain

        # As Puma has it.
        # @param number [Numeric, Symbol] seconds, :immediately or :forever; see {#drain}
        # @return [void]
        def force_shutdown_after(number = :forever)
          drain({ immediately: 0, forever: Float::INFINITY }.fetch(number, number))
        end

        # @param number [Numeric] seconds in which a worker that is replaced still answers on connections that are open
        # @return [void]
        def grace(number) = @settings[:grace] = time(:grace, number)

        # @param path [String]
        # @return [void]
        def pidfile(path) = @settings[:pidfile] = text(:pidfile, path)

        # @param path [String] of the file for `plait serve status`
        # @return [void]
        def state_path(path) = @settings[:state] = text(:state_path, path)
      end
    end
  end
end
