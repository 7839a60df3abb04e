# frozen_string_literal: true

require "rbconfig"
require "tmpdir"
require_relative "../../harness/meter"
require_relative "../../harness/processors"
require_relative "nodes"

module Bench
  module Shard
    # A proxy as a process of its own, on a processor of its own.
    module Contestants
      # What they have in common. A subclass says which command to run, and writes its file.
      class Proxy
        # @return [Integer]
        attr_reader :port

        # @param nodes [Array<Integer>] ports
        # @yieldparam proxy [Proxy]
        def self.open(nodes)
          Dir.mktmpdir("plait-bench-shard") do |folder|
            proxy = new(nodes, folder)
            yield proxy.start
          ensure
            proxy&.stop
          end
        end

        def initialize(nodes, folder)
          @nodes = nodes
          @folder = folder
          @port = Nodes.free_port
        end

        # @raise [RuntimeError]
        def start
          File.write(path, configuration)
          @keeper = IO.popen([*place, "sh", "-c", "echo $$; exec \"$@\"", "sh",
                              *command, { err: File::NULL }], "r+")
          @pid = Integer(@keeper.gets)
          raise "#{command.first} does not listen" unless Nodes.listening?(port)

          self
        end

        def stop
          return unless @pid

          Process.kill(:TERM, @pid)
          @keeper.close
        end

        # @return [Array<Integer>] ports of the servers that have the keys
        def servers = @nodes

        # @return [Float] megabytes, now
        def memory = Harness::Processes.resident(@pid) / 1e6

        # From now on {#peak} is the most since then.
        def forget_peak = Harness::Processes.forget_peak(@pid)

        # @return [Float] megabytes that its language needs before it does anything
        def base = 0.0

        # @return [Float] seconds, of all threads
        def cpu = Harness::Processes.cpu(@pid)

        # @return [Float] megabytes, at most so far
        def peak = Harness::Processes.peak(@pid) / 1e6

        private

        # The command that comes before its own.
        def place = Harness::Processors.for_origin(Harness::Processors.available.first)

        def path = File.join(@folder, "configuration")

        def configuration = ""
      end

      # Data plane of one thread.
      class Plait < Proxy
        # A Ruby that has loaded the same, and has no proxy.
        def base
          IO.popen([*ruby, "$stdout.puts; $stdout.flush; gets"], "r+") do |process|
            process.gets
            Harness::Processes.resident(process.pid) / 1e6
          end
        end

        private

        def ruby
          libraries = Dir[File.expand_path("../../../plait*/lib", __dir__)].map { |folder| "-I#{folder}" }
          [RbConfig.ruby, *libraries, "-r", "plait/shard", "-e"]
        end

        def threads = 1

        def command
          options = { nodes: @nodes.map { |node| "127.0.0.1:#{node}" }, listen: "127.0.0.1:#{port}", threads: threads }
          [*ruby, "Plait::Shard::Proxy.open(**#{options.inspect}) { sleep }"]
        end
      end

      # Wherever the kernel puts it, as far as it is not where the nodes are.
      class OneThread < Plait
        private

        def place
          free = Harness::Processors.available - [Harness::Processors.origin]
          Harness::Processors.for_origin(free.empty? ? nil : free.join(","))
        end
      end

      # Likewise.
      class TwoThreads < OneThread
        private

        def threads = 2
      end

      # twemproxy. Buffers that long keys fit in.
      class Nutcracker < Proxy
        private

        def command = ["nutcracker", "-c", path, "-s", Nodes.free_port.to_s, "-a", "127.0.0.1", "-m", "16384"]

        def configuration
          "bench:\n  listen: 127.0.0.1:#{port}\n  redis: true\n  hash: crc32a\n  distribution: modula\n  servers:\n" +
            @nodes.map { |node| "   - 127.0.0.1:#{node}:1\n" }.join
        end
      end

      # Forwards connections and knows nothing of commands.
      class Haproxy < Proxy
        private

        def command = ["haproxy", "-db", "-f", path]

        def configuration
          <<~CONF + @nodes.each_with_index.map { |node, i| "  server n#{i} 127.0.0.1:#{node}\n" }.join
            global
              nbthread 1
            defaults
              mode tcp
              timeout connect 5s
              timeout client 60s
              timeout server 60s
            listen bench
              bind 127.0.0.1:#{port}
          CONF
        end
      end

      # One more server, on the proxies' processor.
      class Direct < Proxy
        def servers = [port]

        private

        def command
          ["redis-server", "--port", port.to_s, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", @folder,
           "--logfile", File.join(@folder, "log")]
        end
      end
    end
  end
end
