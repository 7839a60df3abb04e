# frozen_string_literal: true

require "rbconfig"
require "tmpdir"
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
          processor = Harness::Processors.available.first
          @keeper = IO.popen([*Harness::Processors.for_origin(processor), "sh", "-c", "echo $$; exec \"$@\"", "sh",
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

        # @return [Float] seconds, of all threads
        def cpu
          Dir["/proc/#{@pid}/task/*/schedstat"].sum { |file| Integer(File.read(file).split.first) } / 1e9
        end

        # @return [Float] megabytes, at most so far
        def peak = File.read("/proc/#{@pid}/status")[/^VmHWM:\s+(\d+)/, 1].to_i / 1000.0

        private

        def path = File.join(@folder, "configuration")

        def configuration = ""
      end

      # Data plane of one thread.
      class Plait < Proxy
        private

        def command
          lib = File.expand_path("../../../lib", __dir__)
          nodes = @nodes.map { |node| "127.0.0.1:#{node}" }
          [RbConfig.ruby, "-I", lib, "-e", <<~RUBY]
            require "plait/shard"
            Plait::Shard::Proxy.open(nodes: #{nodes.inspect}, listen: "127.0.0.1:#{port}") { sleep }
          RUBY
        end
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
        private

        def command
          ["redis-server", "--port", port.to_s, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", @folder,
           "--logfile", File.join(@folder, "log")]
        end
      end
    end
  end
end
