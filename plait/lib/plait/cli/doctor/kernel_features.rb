# frozen_string_literal: true

require "etc"
require_relative "../command"
require_relative "examiner"

module Plait
  module CLI
    class Doctor < Command
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
          disabled = read("proc/sys/kernel/io_uring_disabled")&.to_i
          built = selectors.include?(:URing)
          return missing("io_uring", "not in this kernel, or not told; Plait does not need it") unless disabled || built
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
