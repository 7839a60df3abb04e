# frozen_string_literal: true

require_relative "../heads"
require_relative "../proxy"
require_relative "../url"

module Plait
  module HTTP
    class Connections
      # Where the requests to one origin go, and what a plain GET of it needs, made once.
      class Route
        SLASH = "/".ord
        QUESTION_MARK = "?".ord
        HASH = "#".ord
        private_constant :SLASH, :QUESTION_MARK, :HASH

        # @return [Origin]
        attr_reader :origin
        # @return [String] how its URLs begin
        attr_reader :prefix
        # @return [Integer] where in its URLs the target begins
        attr_reader :offset
        # @return [String, nil] the head of a plain GET without its first line; nil: there is nothing plain about it
        attr_reader :block
        # @return [Proxy, nil]
        attr_reader :proxy

        # @param origin [Origin]
        # @param prefix [String] how its URLs begin
        # @param proxy [Proxy, nil]
        # @yieldreturn [String, nil] the {block}, where there is no proxy that wants another head
        def initialize(origin, prefix = origin.prefix, proxy: nil)
          @origin = origin
          @prefix = prefix
          @offset = prefix.bytesize
          @proxy = proxy
          @block = yield unless forwarded?
          freeze
        end

        # @return [Boolean] whether it is for this URL, and nothing in it needs a closer look
        def serves?(url)
          return false unless url.start_with?(@prefix)

          next_byte = url.getbyte(@offset)
          next_byte == SLASH || next_byte.nil? || next_byte == QUESTION_MARK || next_byte == HASH
        end

        # @return [Boolean] whether a plain GET can go without a {Request}
        def plain? = !@block.nil?

        # @return [Boolean] whether requests are for the proxy to read: they name the whole URL (RFC 9112 §3.2.2)
        def forwarded? = @proxy ? @proxy.absolute_form?(@origin) : false

        def inspect = "#<#{self.class} #{@origin}#{" by way of #{@proxy}" if @proxy}>"
      end
      private_constant :Route

      # The routes of a client, each made when it is first needed. What they are made of can be made again, so only the
      # newest are kept.
      class Routes
        KEPT = 1024
        PREFIX = %r{\Ahttps?://[^/?#]+\z}
        # Behind "https://" at the latest.
        AUTHORITY_AT = 8
        private_constant :PREFIX, :AUTHORITY_AT

        # @param options [Options]
        # @param heads [Heads]
        def initialize(options, heads)
          @options = options
          @heads = heads
          @plain = options.cookies.nil?
          @routes = {}.freeze
          @lock = Mutex.new
        end

        # @param url [String]
        # @return [Route, nil] for a plain GET, of URLs that begin as this one; nil where nothing is plain
        # @raise [UsageError] for what is no URL
        def plain(url)
          path_at = url.index("/", AUTHORITY_AT)
          prefix = path_at ? url[0, path_at] : url
          route = @routes[prefix] || introduce(url, prefix)
          route if route&.plain?
        rescue Encoding::CompatibilityError
          nil # one in UTF-16, say
        end

        # @param origin [Origin]
        # @return [Route]
        def fetch(origin) = @routes[origin.prefix] || add(origin.prefix, origin)

        private

        # As it is written: "http://host:80" is a prefix of its own.
        def introduce(url, prefix)
          return unless prefix.valid_encoding? && PREFIX.match?(prefix)

          url = URL.parse(url)
          add(prefix.dup.freeze, url.origin) unless url.userinfo
        end

        def add(prefix, origin)
          @lock.synchronize { @routes[prefix] || keep(prefix, build(prefix, origin)) }
        end

        def build(prefix, origin)
          Route.new(origin, prefix, proxy: proxy_for(origin)) { @heads.block(origin) if @plain }
        end

        # Who reads needs no lock, for no Hash is ever changed.
        def keep(prefix, route)
          routes = @routes.merge(prefix => route)
          routes.shift if routes.size > KEPT
          @routes = routes.freeze
          route
        end

        def proxy_for(origin)
          case @options.proxy
          when false then nil
          when nil then Proxy.from_environment(origin)
          else Proxy.parse(@options.proxy)
          end
        end
      end
    end
  end
end
