# frozen_string_literal: true

require_relative "../../shard"
require_relative "../../suites/shard/redis_servers"
require_relative "succession"

module Plait
  module CLI
    class Shard < Command
      # Runs a proxy until it is interrupted, and prints its events and figures.
      class Run
        PERIOD = 1.0
        # Options that a file read again does not change.
        FIXED = %i[listen threads metrics].freeze
        private_constant :FIXED

        def initialize(settings, terminal)
          @settings = settings
          @terminal = terminal
        end

        def call
          @options = @settings.proxy
          @settings.demo ? demonstrate(@settings.demo) : serve(**@options)
        end

        private

        # @raise [UnsupportedError] without redis-server, or when it does not start
        def demonstrate(count)
          unless Suites::RedisServers.program
            raise UnsupportedError, "#{Suites::RedisServers::ADVICE}, or name servers that are running with --nodes"
          end

          Suites::RedisServers.open(count) { |nodes| serve(nodes: nodes, **@options) }
        end

        def serve(**options)
          Plait::Shard::Proxy.open(inherited: Succession.take_over, **options) do |proxy|
            Signals.open do |signals|
              before = proxy.figures
              greet(proxy)
              proxy.follow(keeps: @settings.reshard?) { @settings.read_again.except(*FIXED) } if @settings.file?
              Succession.serving
              watching_nodes(proxy) { watch(proxy, signals, before) } == :USR2 ? leave(proxy) : end_well(proxy)
            end
          rescue Interrupt
            say_goodbye(proxy.figures)
          end
          ExitStatus::OK
        end

        def greet(proxy)
          nodes = proxy.placement.nodes
          @terminal.say("listening on #{proxy.host}:#{proxy.port} for #{nodes.join(", ")}; Ctrl-C ends it")
          @terminal.note("figures: http://#{proxy.host}:#{proxy.metrics_port}/metrics") if proxy.metrics_port
          @terminal.note("try: redis-cli -p #{proxy.port} set key value") if @settings.demo
        end

        # Reports nodes that do not answer while the block runs, with --quiet too. Each node is asked at first, after a failed
        # connection, and until it answers again.
        # @return [Object] the block's value
        def watching_nodes(proxy)
          thread = Thread.new do
            silent = failures = nil
            loop do
              before, failures = failures, proxy.figures[:node_failures]
              silent = tell_of_nodes(proxy, silent || []) if silent != [] || failures != before
              sleep(PERIOD)
            end
          end
          yield
        ensure
          thread.kill.join
        end

        # @param before [Array<String>] addresses of the nodes that did not answer
        # @return [Array<String>] likewise
        def tell_of_nodes(proxy, before)
          up, down = proxy.nodes.partition { |node| node[:up] }.map { |nodes| nodes.map { |node| node[:address] } }
          (down - before).each { |node| @terminal.complain("#{node} does not answer; commands for it fail until it does") }
          (before & up).each { |node| @terminal.complain("#{node} answers again") }
          down
        end

        # Prints a line when figures have changed, until SIGTERM, or until another process serves after SIGUSR2.
        # @param before [Hash] the figures before clients knew of the proxy
        # @return [Symbol] the signal
        def watch(proxy, signals, before)
          loop do
            signal = signals.wait(PERIOD)
            signal = change(proxy, signals) if signal == :HUP
            return signal if signal == :TERM || (signal == :USR2 && hand_over(proxy))

            tell_of_places(proxy)
            now = proxy.figures
            @terminal.note(line(now, before)) if now != before
            before = now
          end
        end

        # Nodes refuse a proxy with another placement.
        def tell_of_places(proxy)
          before = @left_behind
          return if before == (@left_behind = proxy.left_behind)

          @terminal.complain(@left_behind ? "nodes refuse this proxy: #{@left_behind}" : "nodes let this proxy in again")
        end

        # @return [Boolean] whether another process serves now
        def hand_over(proxy)
          return refuse_to_hand_over if @settings.demo

          sockets = proxy.sockets
          pid = Succession.start(sockets)
          @terminal.note("process #{pid} has taken over; its clients have #{@settings.drain} s to leave")
          true
        rescue Error, SystemCallError => e
          @terminal.complain("not handed over: #{e.message}")
          false
        ensure
          sockets&.each_value { |list| list.each(&:close) }
        end

        def refuse_to_hand_over
          @terminal.complain("SIGUSR2: the servers of --demo end with this process, so that no other can take over")
          false
        end

        # The new process accepts connections meanwhile, so clients have time.
        def leave(proxy)
          proxy.drain(within: @settings.drain, linger: @settings.drain)
          say_goodbye(proxy.figures)
        end

        # Reads the file again. SIGTERM breaks it off.
        # @return [Symbol, nil] SIGTERM, if it came
        def change(proxy, signals)
          changing = Thread.new { reload(proxy) }
          term = signals.wait_for_term(0.05) until changing.join(0) || term
          term
        ensure
          changing&.kill&.join
        end

        # A wrong file changes nothing.
        def reload(proxy)
          return @terminal.complain("SIGHUP: there is no --config to be read again") unless @settings.file?

          options = free(@settings.read_again)
          ending = @settings.reshard? ? reshard(proxy, options) : exchange(proxy, options)
          @terminal.note("reloaded for #{proxy.placement.nodes.join(", ")}; #{ending}")
        rescue Error => e
          @terminal.complain("not reloaded: #{e.message}")
        end

        # @return [Hash] the options that can change; a change of another one is reported
        def free(options)
          changed = FIXED.reject { |name| options[name] == @options[name] }
          @terminal.complain("not changed before a restart: #{changed.join(", ")}") if changed.any?
          options.except(*FIXED)
        end

        def exchange(proxy, options)
          stayed = proxy.reload(within: @settings.drain, **options)
          stayed ? "clients stay" : "clients are asked to reconnect: keys have other places"
        end

        def reshard(proxy, options)
          @terminal.note("moving keys to their new places …")
          "#{proxy.reshard(within: @settings.drain, resume: @settings.resume?, **options)} keys were copied"
        end

        # A second signal ends it at once.
        def end_well(proxy)
          @terminal.note("ending: clients get #{@settings.drain} s for pending answers")
          proxy.drain(within: @settings.drain) || @terminal.note("some clients were cut")
          say_goodbye(proxy.figures)
        end

        def line(now, before)
          rate = now.to_h { |name, number| [name, number - before[name]] }
          format("%d clients, %d commands/s, %.1f MB/s in, %.1f MB/s out, %d errors, %d failures of nodes",
                 now[:clients], rate[:commands], rate[:bytes_in] / 1e6, rate[:bytes_out] / 1e6, rate[:errors],
                 rate[:node_failures])
        end

        def say_goodbye(figures)
          @terminal.say(format("%d clients were served with %d commands; %d were answered with an error of the proxy",
                               *figures.values_at(:accepted, :commands, :errors)))
        end
      end

      # Waits for SIGHUP, SIGTERM and SIGUSR2, and returns them in their order.
      class Signals
        NAMES = { "H" => :HUP, "T" => :TERM, "2" => :USR2 }.freeze

        # @yieldparam signals [Signals] it has these signals while the block runs
        def self.open
          signals = new
          yield signals
        ensure
          signals&.close
        end

        def initialize
          @later = []
          @reader, @writer = IO.pipe
          @before = NAMES.to_h { |letter, name| [name, trap(name) { @writer.write_nonblock(letter, exception: false) }] }
        end

        # @return [Symbol, nil] nil: none has come
        def wait(seconds) = @later.shift || read(seconds)

        # Keeps other signals for {#wait}, each once.
        # @return [Symbol, nil] nil: SIGTERM has not come
        def wait_for_term(seconds)
          name = read(seconds)
          return name if name == :TERM

          @later |= [name].compact
          nil
        end

        def close
          @before.each { |name, handler| trap(name, handler) }
          [@reader, @writer].each(&:close)
        end

        private

        def read(seconds) = (NAMES[@reader.read_nonblock(1)] if @reader.wait_readable(seconds))
      end
      private_constant :Signals
    end
  end
end
