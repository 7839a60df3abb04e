# frozen_string_literal: true

require_relative "../../shard"
require_relative "../command"
require_relative "../exit_status"
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
            watch(proxy)
          rescue Interrupt
            say_goodbye(proxy.figures)
          end
          ExitStatus::OK
        end

        def greet(proxy)
          nodes = proxy.placement.nodes
          @terminal.say("listening on #{proxy.host}:#{proxy.port} for #{nodes.join(", ")}; Ctrl-C ends it")
          @terminal.note("try: redis-cli -p #{proxy.port} set key value") if @settings.demo
        end

        # A line when something has happened.
        def watch(proxy)
          before = proxy.figures
          loop do
            sleep(PERIOD)
            now = proxy.figures
            @terminal.note(line(now, before)) if now != before
            before = now
          end
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
