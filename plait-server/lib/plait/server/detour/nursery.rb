# frozen_string_literal: true

require "socket"
require_relative "performer"
require "plait/mechanisms/processes/forking"
require "plait/values/errors"

module Plait
  class Server
    class Detour
      # A process that begins others. It is a fork from before the server began: those of a server at work would keep its clients'
      # connections open, and have its loop.
      class Nursery
        ORDER = "."
        IGNORED = %w[INT TERM HUP USR1 USR2].freeze

        # @param app [#call]
        # @param listeners [Array<Io::Listener>] closed in there
        # @yield in each process, before it runs anything
        def initialize(app, listeners, &boot)
          @app = app
          @boot = boot
          @lock = Mutex.new
          @ours, theirs = UNIXSocket.pair
          @pid = Mechanisms::Processes::Forking.call do
            @ours.close
            listeners.each { |listener| listener.io.close }
            live(theirs)
          end
          theirs.close
        end

        # @return [UNIXSocket] to a new process: it ends when this is closed
        # @raise [WorkerDied]
        def process
          @lock.synchronize do
            @ours.write(ORDER)
            @ours.wait_readable
            @ours.recv_io(UNIXSocket)
          end
        rescue SystemCallError, IOError, SocketError
          raise WorkerDied, "the process is gone that begins those of Plait::Server.on(:processes)"
        end

        # @return [void]
        def close
          @ours.close
          Process.wait(@pid)
        rescue SystemCallError
          nil # somebody else has seen to it
        end

        private

        # Whoever has begun it ends it by going: signals are for him.
        def live(orders)
          IGNORED.each { |name| trap(name, "IGNORE") }
          Process.setproctitle("plait: nursery")
          begin_one(orders) while orders.read(1)
        ensure
          Process.exit!(0)
        end

        def begin_one(orders)
          ours, theirs = UNIXSocket.pair
          pid = Mechanisms::Processes::Forking.call do
            [ours, orders].each(&:close)
            Performer.new(@app, theirs, @boot).live
          end
          Process.detach(pid)
          orders.send_io(ours)
        ensure
          [ours, theirs].compact.each(&:close)
        end
      end
    end
  end
end
