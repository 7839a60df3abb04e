# frozen_string_literal: true

require "json"

module Bench
  module HTTP
    # Where an origin listens, and whom to trust. The bench starts nginx once; its contestants, in processes of their
    # own, find it by the environment.
    Site = Struct.new(:port, :tls_port, :http2_port, :ca_file, :processor, :tls, :http2, keyword_init: true) do
      # @return [Site] as published by the process that started this one
      # @raise [KeyError] outside of a bench
      def self.published = new(**JSON.parse(ENV.fetch(self::VARIABLE), symbolize_names: true))

      # For the processes started from now on.
      def publish = ENV[self.class::VARIABLE] = JSON.generate(to_h)

      # @return [Site] the same by TLS
      def with_tls = dup.tap { |site| site.tls = true }

      # @return [Site] the same by HTTP/2
      def with_http2 = dup.tap { |site| site.tls = site.http2 = true }

      # @return [String] scheme, host and port
      def origin = "http#{"s" if tls}://#{host}:#{effective_port}"

      # @param target [String] path and query
      # @return [String]
      def url(target) = "#{origin}#{target}"

      def host = self.class::HOST

      def effective_port
        return port unless tls

        http2 ? http2_port : tls_port
      end

      def authority = "#{host}:#{effective_port}"
    end
    # An address: resolving names is not compared.
    Site::HOST = "127.0.0.1"
    Site::VARIABLE = "PLAIT_BENCH_HTTP_SITE"
  end
end
