# frozen_string_literal: true

require_relative "../../shard"
require_relative "../../values/errors"
require_relative "../command"
require_relative "../exit_status"
require_relative "bell"
require_relative "demo"

module Plait
  module CLI
    class Shard < Command
      # Runs a proxy until it is interrupted, and tells what goes on.
      class Run
        PERIOD = 1.0

        # @param settings [Settings]
        # @param terminal [Terminal]
        def initialize(settings, terminal)
          @settings = settings
          @terminal = terminal
        end

        # @return [Integer] an {ExitStatus}
        def call
          options = @settings.proxy
          return serve(**options) unless @settings.demo

          Demo.open(@settings.demo) { |nodes| serve(nodes: nodes, **options) }
        end

        private

        def serve(**options)
          Plait::Shard::Proxy.open(**options) do |proxy|
            greet(proxy)
            Bell.open { |bell| watch(proxy, bell) }
            end_well(proxy)
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

        # A line when something has happened; until SIGTERM.
        def watch(proxy, bell)
          before = proxy.figures
          until (signal = bell.wait(PERIOD)) == :TERM
            signal = change(proxy, bell) while signal == :HUP
            return if signal == :TERM

            now = proxy.figures
            @terminal.note(line(now, before)) if now != before
            before = now
          end
        end

        # With the file as it is now. SIGTERM breaks it off.
        # @return [Symbol, nil] the signal that came meanwhile
        def change(proxy, bell)
          changing = Thread.new { reload(proxy) }
          signal = nil
          signal = bell.wait(0.05) || signal until changing.join(0) || signal == :TERM
          signal
        ensure
          changing&.kill&.join
        end

        # A file that is wrong changes nothing.
        def reload(proxy)
          return @terminal.complain("SIGHUP: there is no --config to be read again") unless @settings.file?

          options = @settings.read_again.except(:listen, :threads, :metrics)
          ending = @settings.reshard? ? reshard(proxy, options) : exchange(proxy, options)
          @terminal.note("reloaded for #{proxy.placement.nodes.join(", ")}; #{ending}")
        rescue Error => e
          @terminal.complain("not reloaded: #{e.message}")
        end

        def exchange(proxy, options)
          stayed = proxy.reload(within: @settings.drain, **options)
          stayed ? "clients stay" : "clients are asked to connect anew: keys have other places"
        end

        def reshard(proxy, options)
          @terminal.note("moving keys to their new places …")
          "#{proxy.reshard(within: @settings.drain, resume: @settings.resume?, **options)} keys were copied"
        end

        # A second signal ends it at once.
        def end_well(proxy)
          @terminal.note("ending: clients get #{@settings.drain} s for what they wait for")
          cut = !proxy.drain(within: @settings.drain)
          @terminal.note("some were cut") if cut
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
    end
  end
end
