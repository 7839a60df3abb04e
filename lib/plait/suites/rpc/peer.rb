# frozen_string_literal: true

require "rbconfig"
require_relative "../../io/endpoint"
require_relative "../../values/deadline"
require_relative "../../values/errors"
require_relative "../jruby"
require_relative "../suite"

module Plait
  module Suites
    class Rpc < Suite
      # An RPC server on the loopback to measure clients against: in a process of its own, which dies with the one that started
      # it. Its methods are those of {Service}.
      class Peer
        # Seconds.
        START = 60
        STOP = 2

        # It did not come up.
        class StartError < Error; end

        # Starts one, yields it, and stops it whatever happens.
        # @return [Object] what the block returns
        # @raise [StartError]
        def self.open(**options)
          peer = new(**options)
          yield peer.await
        ensure
          peer&.stop
        end

        # @return [Io::Endpoint] once it listens
        attr_reader :endpoint

        # @param on [Symbol] what the server runs its methods on
        # @param blocks [Integer] see {Blocks}
        def initialize(on: :threads, blocks: 1)
          @on = on
          @blocks = blocks
          # Not spawn with a pipe: JRuby redirects to a pipe only when its JVM was told to open itself to it.
          @process = IO.popen([{ "RUBYOPT" => nil }, *command, { in: File::NULL }])
          @owner = Process.pid
        end

        # Waits until it listens.
        # @return [self]
        # @raise [StartError]
        def await
          answer = @process.wait_readable(START) && @process.gets
          port = answer.to_s[/\Aport (\d+)/, 1]
          raise StartError, "the RPC server did not start: #{answer&.strip || "it said nothing"}" unless port

          @endpoint = Io::Endpoint.tcp("127.0.0.1", port.to_i)
          self
        end

        # Ends it and waits for its end. Does nothing the second time, nor in a fork.
        # @return [void]
        def stop
          return if @process.closed? || @owner != Process.pid

          Process.kill(:TERM, @process.pid)
          reap
        rescue Errno::ESRCH, Errno::ECHILD
          nil
        ensure
          @process.close if @owner == Process.pid
        end

        private

        # Without RubyGems and Bundler, which take longer to load than all the rest.
        def command
          call = "on: :#{@on}, blocks: #{@blocks}, parent: #{Process.pid}"
          [*ruby, "--disable=gems", *load_path, "-r#{File.expand_path("peer/program.rb", __dir__)}",
           "-e", "Plait::Suites::Rpc::Peer::Program.run(#{call})"]
        end

        def ruby = RUBY_ENGINE == "jruby" ? JRuby.current.command : [RbConfig.ruby]

        def load_path
          gems = %w[msgpack io-event].flat_map { |name| paths(name) }
          ($LOAD_PATH.map(&:to_s) | gems).select { |path| File.directory?(path) }.map { |path| "-I#{path}" }
        end

        def paths(name)
          gem = Gem.loaded_specs[name] || Gem::Specification.find_by_name(name)
          gem.full_require_paths
        rescue Gem::MissingSpecError
          []
        end

        def reap
          deadline = Deadline.after(STOP)
          until Process.wait(@process.pid, Process::WNOHANG)
            Process.kill(:KILL, @process.pid) if deadline.expired?
            sleep(0.005)
          end
        end
      end
    end
  end
end
