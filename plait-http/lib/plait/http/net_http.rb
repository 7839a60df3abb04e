# frozen_string_literal: true

require "net/http"
require "openssl"
require "plait/values"
require "plait/io/tls/client"
require_relative "net_http/pool"
require_relative "net_http/session"

module Plait
  module HTTP
    # Net::HTTP with a pool of keep-alive connections underneath, for threads and fibers, without a change to the code
    # that uses it or to the libraries on top of it. To require this file switches it on.
    #
    # @example
    #   require "plait/http/net_http"
    #
    #   Plait.map(urls, on: :fibers) { |url| Net::HTTP.get(URI(url)) }   # as many connections as are in use at once
    #
    # A session (`start` to `finish`, or one `Net::HTTP.get`) has a connection of its own, as ever. When it is over, and
    # its last answer was read to the end, the next session with the same {Key} gets it; one whose exchange was broken off
    # in any way is closed. See guides/net_http.md for other differences.
    module NetHTTP
      # Origins whose last TLS session is kept, so that a new connection costs one round trip less. Sessions are kept by {Key}: a
      # peer verified with one set of TLS settings is not verified for another.
      TLS_SESSIONS = 512

      # An OpenSSL::X509::Store does not list its contents, and open-uri and others make one for each request. It remembers its
      # changes, so that {Key} can tell that two stores trust the same.
      # @api private
      module StoreHistory
        CHANGES = %i[add_cert add_crl add_file add_path set_default_paths flags= purpose= time= trust= verify_callback=].freeze

        # Of the class itself. A store that was made before has no history, and is equal to nothing but itself.
        module Beginning
          def new(*)
            super.tap { |store| store.instance_variable_set(:@plait_made_of, []) if store.instance_of?(OpenSSL::X509::Store) }
          end
        end

        CHANGES.each do |name|
          define_method(name) do |*arguments|
            @plait_made_of&.push([name, *arguments.map { |argument| StoreHistory.comparable(argument) }])
            super(*arguments)
          end
        end

        # @return [Object] equal for arguments that make no difference
        def self.comparable(argument)
          case argument
          when String then argument.dup.freeze
          when OpenSSL::X509::Certificate, OpenSSL::X509::CRL then argument.to_der
          else argument
          end
        end
      end

      # The methods of a module put in front of a class's own, and taken away again. A module can't be taken out of a
      # class, but it can be emptied: then the class's methods are its own as before.
      # @api private
      class Patch
        # @param source [Module] with the methods
        def initialize(target, source)
          @target = target
          @source = source
          @shim = Module.new
          @shim.define_singleton_method(:inspect) { "#{source} (put in front of #{target})" }
        end

        def apply
          names.each { |name| put(name) }
          @target.prepend(@shim)
        end

        def undo = names.each { |name| @shim.remove_method(name) if @shim.method_defined?(name) || hidden?(name) }

        private

        def names = @source.instance_methods(false) + @source.private_instance_methods(false)

        # A method that Net::HTTP keeps private is private here, too.
        def put(name)
          hidden = @target.private_method_defined?(name)
          @shim.define_method(name, @source.instance_method(name))
          @shim.send(:private, name) if hidden
        end

        def hidden?(name) = @shim.private_method_defined?(name)
      end
      private_constant :TLS_SESSIONS, :StoreHistory, :Patch

      @pool = Pool.new
      @tls_sessions = Io::TLS::Sessions.new(TLS_SESSIONS)
      @patches = [Patch.new(Net::HTTP, Session), Patch.new(OpenSSL::X509::Store, StoreHistory),
                  Patch.new(OpenSSL::X509::Store.singleton_class, StoreHistory::Beginning)]
      @lock = Thread::Mutex.new
      @holders = 0
      @permanent = @applied = false

      class << self
        # @api private
        # @return [Pool]
        attr_reader :pool
        # @api private
        # @return [Io::TLS::Sessions]
        attr_reader :tls_sessions

        # Switches it on, in the whole process.
        # @return [void]
        def enable = change { @permanent = true }

        # Switches it off: Net::HTTP is as Ruby made it. Idle connections are closed; sessions that are open close theirs
        # when they are done. Blocks of {enabled} that are under way keep it on until they end.
        # @return [void]
        def disable = change { @permanent = false }

        # On for the time of a block, in the whole process.
        # @return [Object] the block's value
        def enabled
          held = false
          change { held = (@holders += 1) }
          yield
        ensure
          change { @holders -= 1 } if held
        end

        # @return [Boolean]
        def enabled? = @applied

        # @param changes [Hash]
        # @option changes [Integer] :total connections open at once (512)
        # @option changes [Integer] :per_key of these, to one origin with the same TLS settings and proxy (256)
        # @option changes [Numeric] :idle_timeout seconds for which an unused connection is kept (30); Net::HTTP's own
        #   keep_alive_timeout (2) says how old a connection each Net::HTTP takes
        # @option changes [Boolean] :strict whether an answer that is cut off is an EOFError (true)
        # @return [Settings] all of them
        # @raise [UsageError] for an unknown setting, or a value that makes no sense; nothing is changed
        def configure(**changes) = @pool.settings = @pool.settings.with(**changes)

        # @return [Statistics]
        def statistics = @pool.statistics

        # Closes the idle connections and forgets the TLS sessions.
        # @return [void]
        def clear
          @pool.clear
          @tls_sessions = Io::TLS::Sessions.new(TLS_SESSIONS)
        end

        private

        def change
          @lock.synchronize do
            yield
            wanted = @permanent || @holders.positive?
            next if wanted == @applied

            @patches.each(&(wanted ? :apply : :undo))
            @applied = wanted
          end
          clear unless @applied
        end
      end

      enable
    end
  end
end
