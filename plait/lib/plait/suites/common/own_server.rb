# frozen_string_literal: true

require "socket"

module Plait
  module Suites
    # A server program that a suite or a demonstration starts on a free port of the loopback, with its files in a temporary
    # folder. It ends with this process, even where this process is killed.
    class OwnServer
      HOST = "127.0.0.1"
      # Seconds for a server to start; raising it helps a slow disk.
      START = 60
      # Seconds for a server to stop; raising it spares a slow disk a recovery.
      STOP = 15
      # Waits for the end of its standard input, which is the end of this process.
      KEEPER = 'read line; kill -s "$0" "$1"'

      # @return [Integer]
      attr_reader :port

      # @param folder [String] of its files; several servers may have one
      # @param signal [String] that makes it end in order
      def initialize(folder, signal: "TERM")
        @folder = folder
        @signal = signal
        @port = TCPServer.open(HOST, 0) { |socket| socket.addr[1] }
      end

      # @return [String] "HOST:PORT"
      def address = "#{HOST}:#{@port}"

      # Runs a program to its end before the server starts.
      # @raise [UnsupportedError] it fails
      def prepare(*command)
        Process.wait(spawn(command))
        raise UnsupportedError, "#{command.first} failed: #{last_lines}" unless Process.last_status.success?
      end

      # @yieldreturn [Boolean] whether it answers
      # @raise [UnsupportedError] it does not start
      def start(*command, &ready)
        @pid = spawn(command)
        @keeper = IO.popen(["sh", "-c", KEEPER, @signal, @pid.to_s, { pgroup: true }], "w")
        deadline = Deadline.after(START)
        until ready.call
          raise UnsupportedError, "#{command.first} did not start: #{last_lines}" if deadline.expired? || over?

          sleep(0.02)
        end
      end

      # @return [Boolean] whether it accepts connections
      def listening?
        TCPSocket.new(HOST, @port).close
        true
      rescue SystemCallError
        false
      end

      # Ends the server and waits for it. A server that does not stop in time is killed.
      def stop
        return unless @keeper

        Process.kill(:KILL, @keeper.pid)
        @keeper.close
        Process.kill(@signal, @pid) unless over?
        deadline = Deadline.after(STOP)
        sleep(0.02) until over? || deadline.expired?
        Process.kill(:KILL, @pid) && Process.wait(@pid) unless @over
      rescue SystemCallError
        nil # it has ended by itself
      ensure
        @keeper = nil
      end

      private

      # A process group of its own: Ctrl-C at the terminal reaches this process, which stops the server in order.
      def spawn(command) = Process.spawn(*command, in: File::NULL, %i[out err] => [log, "a"], chdir: @folder, pgroup: true)

      def over? = @over ||= Process.waitpid(@pid, Process::WNOHANG)

      def log = File.join(@folder, "#{@port}.log")

      def last_lines = File.readlines(log).last(5).join.strip.then { |text| text.empty? ? "it says nothing" : text }
    end
  end
end
