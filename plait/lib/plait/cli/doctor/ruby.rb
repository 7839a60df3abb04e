# frozen_string_literal: true

require "etc"
require_relative "../../mechanisms"
require_relative "examiner"

module Plait
  module CLI
    class Doctor < Command
      # The Ruby that runs this, and what of Plait is loaded on it.
      class Ruby < Examiner
        GROUP = "ruby"
        BUILD = "bin/setup (in a clone), or: gem pristine plait"

        def checks = [version, RUBY_ENGINE == "ruby" ? extension : twin, jit]

        private

        def version
          ok("version", RUBY_ENGINE_VERSION,
             "#{RUBY_ENGINE} #{RUBY_ENGINE_VERSION} (Ruby #{RUBY_VERSION}), #{RUBY_PLATFORM}, Plait #{Plait::VERSION}")
        end

        def twin = ok("extension", "twin", "pure Ruby: #{RUBY_ENGINE} runs no C extensions")

        def extension
          return ok("extension", "loaded", "compiled and loaded") if Native.available?

          limited("extension", "twin", "not loaded (#{Native::REASON}); pure Ruby stands in", BUILD)
        end

        def jit
          return ok("jit", RUBY_ENGINE, "part of #{RUBY_ENGINE}") unless RUBY_ENGINE == "ruby"
          return ok("jit", "YJIT", "YJIT is on") if defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?
          return ok("jit", nil, "this Ruby was built without YJIT") unless defined?(RubyVM::YJIT)

          ok("jit", nil, "YJIT is off", "to compute faster: RUBYOPT=--yjit plait lab computing")
        end
      end

      # Which mechanisms can be used here, and why not the others.
      class Ways < Examiner
        GROUP = "mechanisms"

        # @param registry [#names_for_jobs, #find] {Mechanisms}
        def initialize(registry: Mechanisms, root: "/")
          super(root: root)
          @registry = registry
        end

        def checks = @registry.names_for_jobs.map { |name| examine(name.to_s, name) }

        private

        def examine(label, name)
          mechanism = @registry.find(name)
          reason = mechanism.unavailable
          return missing(label, reason) if reason

          limit = mechanism.default_limit
          ok(label, limit, "available#{for_what(name)}; #{limit} at once by default")
        rescue LoadError => e
          missing(label, "can't be loaded: #{e.message}")
        end

        def for_what(name)
          " for jobs (Plait.job), with a Redis and processes of Sidekiq" unless @registry.names.include?(name)
        end
      end

      # The ways to wait that this kernel has, and which of them the event loop uses.
      class KernelFeatures < Examiner
        GROUP = "kernel"
        # The same number on every architecture, as for all calls since Linux 5.1.
        PIDFD_OPEN = 434
        REBUILD = "gem pristine io-event"

        def checks = [system, event_loop, io_uring, pidfd]

        private

        def system
          uname = Etc.uname
          ok("system", uname[:release], "#{uname[:sysname]} #{uname[:release]}")
        rescue NotImplementedError
          unknown("system")
        end

        def event_loop
          return missing("event loop", "#{RUBY_ENGINE} has no fiber scheduler, so none is needed") if RUBY_ENGINE != "ruby"

          found = %i[EPoll KQueue Select].find { |name| selectors.include?(name) }
          return limited("event loop", nil, "none (#{@load_error})", "gem install io-event") unless found
          return ok("event loop", found.to_s, found.to_s.downcase) unless found == :Select

          limited("event loop", "Select", "select only, which is slow beyond some hundred connections", REBUILD)
        end

        def io_uring
          disabled = number("kernel.io_uring_disabled")
          built = selectors.include?(:URing)
          return missing("io_uring", "not in this kernel, or unknown; Plait does not need it") unless disabled || built
          return missing("io_uring", "switched off in this kernel; Plait does not need it") if disabled == 2

          ok("io_uring", built, "in the kernel#{", but not built into io-event" unless built}; " \
                                "Plait uses epoll, which measured faster")
        end

        def pidfd
          return unknown("pidfd", "unknown: Plait looks for it on Linux with CRuby only") unless linux_cruby?

          IO.for_fd(silently { syscall(PIDFD_OPEN, Process.pid, 0) }).close
          ok("pidfd", true, "a fiber can wait for a child process without a thread")
        rescue SystemCallError, NotImplementedError => e
          limited("pidfd", false, "not there (#{e.message}): waiting for child processes takes a thread each",
                  "use Linux 5.3 or newer, in a container that does not filter pidfd_open")
        end

        def linux_cruby? = RUBY_ENGINE == "ruby" && RUBY_PLATFORM.include?("linux")

        # Kernel#syscall warns with -w that it may go one day.
        def silently
          verbose = $VERBOSE
          $VERBOSE = nil
          yield
        ensure
          $VERBOSE = verbose
        end

        def selectors
          @selectors ||= begin
            require "io/event"
            IO::Event::Selector.constants
          end
        rescue LoadError => e
          @load_error = e.message
          @selectors = []
        end
      end
    end
  end
end
