# frozen_string_literal: true

require "uri"
require_relative "http2"
require_relative "../io/endpoint"
require_relative "../io/listener"
require_relative "../io/tls"
require_relative "../values/errors"

module Plait
  class Server
    # Where to listen, in one line: tcp://HOST:PORT, unix:///PATH or ssl://HOST:PORT?cert=FILE&key=FILE.
    class Place
      # A name in the query => what it is for.
      WORDS = { "cert" => "the certificate", "key" => "its key", "ca" => "whose clients are trusted",
                "verify_mode" => "of clients", "backlog" => "connections that wait to be accepted",
                "mode" => "of the socket's file, octal", "umask" => "of the socket's file, octal" }.freeze
      VERIFY = { "none" => nil, "peer" => :optional, "force_peer" => :required }.freeze
      FORM = "ssl://HOST:PORT?cert=FILE&key=FILE"

      # @param text [String]
      # @raise [UsageError]
      def initialize(text)
        @text = text
        where, query = text.split("?", 2)
        @endpoint = Io::Endpoint.parse(where)
        @words = URI.decode_www_form(query.to_s).to_h
        check
      end

      # @return [Io::Endpoint]
      attr_reader :endpoint

      # @param inherited [Array<Io::Listener>] from a service manager; one that listens here is taken from it
      # @param backlog [Integer] where the line says no other number
      # @param at [Io::Endpoint] with the port that was given, where that was 0
      # @param reuse_port [Boolean]
      # @return [Io::Listener]
      # @raise [ListenError, UsageError]
      def open(inherited: [], backlog: 1024, at: @endpoint, reuse_port: false)
        found = inherited.find { |listener| listener.endpoint.name == @endpoint.name }
        return adopt(inherited.delete(found)) if found

        backlog = Integer(@words["backlog"], 10) if @words["backlog"]
        Io::Listener.open(at, backlog: backlog, tls: tls, mode: mode, reuse_port: reuse_port)
      end

      # @return [Boolean] whether several sockets can listen there
      def reusable? = !@endpoint.unix?

      private

      def check
        unknown = @words.keys - WORDS.keys
        raise UsageError, "#{@text}: there is no #{unknown.first}=, only #{WORDS.keys.join(", ")}" if unknown.any?

        numbers = { "backlog" => /\A[1-9]\d*\z/, "mode" => /\A[0-7]{1,4}\z/, "umask" => /\A[0-7]{1,4}\z/ }
        wrong = numbers.find { |name, form| @words[name] && !form.match?(@words[name]) }&.first
        raise UsageError, "#{@text}: #{wrong}=#{@words[wrong]} is no number for #{WORDS[wrong]}" if wrong
        return unless @endpoint.tls?

        tls # now: a certificate that can't be read is a mistake of the same line
      end

      def tls
        return unless @endpoint.tls?

        @tls ||= Io::TLS::Server.new(certificate: file("cert"), key: file("key"), client_ca: @words["ca"],
                                     verify_client: verify, alpn: HTTP2.protocols)
      rescue UsageError => e
        raise UsageError, "#{@text}: #{e.message.delete_prefix("#{@text}: ")}"
      end

      def file(name) = @words[name] || raise(UsageError, "it lacks its #{name}: #{FORM}")

      def verify
        mode = @words.fetch("verify_mode", "none")
        VERIFY.fetch(mode) { raise UsageError, "verify_mode=#{mode} is none of #{VERIFY.keys.join(", ")}" }
      end

      def mode
        return @words["mode"].to_i(8) if @words["mode"]

        0o777 & ~@words["umask"].to_i(8) if @words["umask"]
      end

      def adopt(listener) = @endpoint.tls? ? Io::Listener.new(listener.io, scheme: :tls, tls: tls) : listener
    end
  end
end
