# frozen_string_literal: true

require "uri"

module Plait
  class Server
    # Where to listen, in one line: tcp://HOST:PORT, unix:///PATH or ssl://HOST:PORT?cert=FILE&key=FILE.
    class Place
      # A name in the query => what it is for.
      WORDS = { "cert" => "the certificate", "key" => "its key", "ca" => "whose clients are trusted",
                "verify_mode" => "of clients", "backlog" => "connections that wait to be accepted",
                "mode" => "the permissions of the socket's file, octal",
                "umask" => "permissions that the socket's file shall not have, octal" }.freeze
      # Words of ssl:// only.
      TLS_WORDS = %w[cert key ca verify_mode].freeze
      # Words that are numbers, with their form.
      NUMBERS = { "backlog" => /\A[1-9]\d{0,8}\z/, "mode" => /\A[0-7]{1,4}\z/, "umask" => /\A[0-7]{1,4}\z/ }.freeze
      VERIFY = { "none" => nil, "peer" => :optional, "force_peer" => :required }.freeze
      FORM = "ssl://HOST:PORT?cert=FILE&key=FILE"
      FORMS = "tcp://HOST:PORT, unix:///PATH or #{FORM}".freeze
      # Days before the end of a certificate from which on it is reported.
      SOON = 7
      # What a place may begin with; tls as other parts of the gem have it.
      SCHEMES = %w[tcp unix ssl tls].freeze

      # @raise [UsageError]
      def initialize(text)
        @text = text
        where, query = text.split("?", 2)
        @endpoint = locate(where.to_s)
        @words = URI.decode_www_form(query.to_s).to_h
        check
      end

      # @return [String] as it was given
      attr_reader :text
      attr_reader :endpoint

      # @param inherited [Array<Io::Listener>] from a service manager; one that listens here is taken from it
      # @param backlog [Integer] where the line says no other number
      # @param at [Io::Endpoint] with the port that was given, where that was 0
      # @param reuse_port [Boolean]
      # @param later [Boolean] refuse connections until its {Io::Listener#listen} is called
      # @return [Io::Listener]
      # @raise [ListenError, UsageError]
      def open(inherited: [], backlog: 1024, at: @endpoint, reuse_port: false, later: false)
        found = inherited.find { |listener| listener.endpoint.name == @endpoint.name }
        return adopt(inherited.delete(found)) if found

        backlog = Integer(@words["backlog"], 10) if @words["backlog"]
        Io::Listener.open(at, backlog: backlog, tls: tls, mode: mode, reuse_port: reuse_port, later: later)
      end

      # Reads the certificate and what belongs to it, if there is one.
      # @raise [UsageError]
      def load
        tls
        self
      end

      # @param listener [Io::Listener] that was opened here
      # @return [Io::Listener] the same socket, with the certificate as it is in its file now
      # @raise [UsageError]
      def renew(listener)
        @tls = nil
        adopt(listener)
      end

      # @return [String, nil] what clients will have against its certificate; nil: nothing
      def warning(now = Time.now)
        return unless @endpoint.tls?

        require "openssl"
        text = @words["cert"]
        certificate = OpenSSL::X509::Certificate.new(text.include?("-----BEGIN") ? text : File.read(text))
        flaw = flaw_of(certificate, now)
        "#{@endpoint}: the certificate of #{certificate.subject} #{flaw}" if flaw
      end

      # @return [Boolean] whether several sockets can listen there
      def reusable? = !@endpoint.unix?

      private

      def locate(where)
        scheme = where[%r{\A([^/:]*)://}, 1]
        raise UsageError, "#{where}: there is no #{scheme}:// here, only #{FORMS}" if scheme && !SCHEMES.include?(scheme)

        Io::Endpoint.parse(where, forms: FORMS)
      end

      def check
        check_words
        check_tls if @endpoint.tls?
      end

      def check_words
        unknown = @words.keys - WORDS.keys
        raise UsageError, "#{@text}: there is no #{unknown.first}=, only #{WORDS.keys.join(", ")}" if unknown.any?

        wrong = NUMBERS.find { |name, form| @words[name] && !form.match?(@words[name]) }&.first
        raise UsageError, "#{@text}: #{wrong}=#{@words[wrong]} is no number for #{WORDS[wrong]}" if wrong

        vain = (@words.keys & TLS_WORDS).first unless @endpoint.tls?
        raise UsageError, "#{@text}: #{vain}= is for #{FORM}: here nothing is encrypted" if vain
      end

      def check_tls
        lacking = %w[cert key].find { |name| @words[name].to_s.empty? }
        raise UsageError, "#{@text}: it lacks its #{lacking}: #{FORM}" if lacking
        raise UsageError, "#{@text}: verify_mode=#{mode_of_clients} is none of #{VERIFY.keys.join(", ")}" unless verifiable?
        return if verification.nil? || @words["ca"]

        raise UsageError, "#{@text}: verify_mode=#{mode_of_clients} needs ca=FILE, the certificates by which clients are known"
      end

      def mode_of_clients = @words.fetch("verify_mode", "none")

      def verifiable? = VERIFY.key?(mode_of_clients)

      def verification = VERIFY[mode_of_clients]

      def tls
        return unless @endpoint.tls?

        @tls ||= make_tls
      rescue UsageError => e
        raise UsageError, "#{@text}: #{e.message.delete_prefix("#{@text}: ")}"
      end

      def make_tls
        require "plait/io/tls"
        Io::TLS::Server.new(certificate: @words["cert"], key: @words["key"], client_ca: @words["ca"],
                            verify_client: verification, alpn: Protocols::HTTP2::ALPN)
      end

      def flaw_of(certificate, now)
        first, last = [certificate.not_before, certificate.not_after].map { |time| time.utc.strftime("%F %R UTC") }
        return "has expired at #{last}: clients refuse it" if certificate.not_after < now
        return "is valid from #{first} on: until then clients refuse it" if certificate.not_before > now

        "expires at #{last}" if certificate.not_after < now + (SOON * 86_400)
      end

      def mode
        return @words["mode"].to_i(8) if @words["mode"]

        0o777 & ~@words["umask"].to_i(8) if @words["umask"]
      end

      def adopt(listener) = @endpoint.tls? ? Io::Listener.new(listener.io, scheme: :tls, tls: tls) : listener
    end
  end
end
