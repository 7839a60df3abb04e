# frozen_string_literal: true

require "openssl"
require "support/certificates"
require_relative "nodes"

# Certificates in files, servers that speak TLS, and clients that do.
module EncryptedNodes
  include ShardNodes

  # Listens for TLS only, and wants a certificate of its clients.
  class Server < Support::RedisServer
    def initialize(files, **options)
      super(**options)
      @files = files
    end

    private

    def command
      [*super, "--port", "0", "--tls-port", port.to_s,
       "--tls-cert-file", @files["node.pem"], "--tls-key-file", @files["node.key"],
       "--tls-ca-cert-file", @files["ca.pem"], "--tls-auth-clients", "yes"]
    end

    def ready?
      Socket.tcp(host, port, connect_timeout: 1).close
      true
    rescue SystemCallError
      false
    end
  end

  # The certificates of all tests of this process: an authority, the shard's, a node's for its address, one for another name,
  # a client's, and one that nobody has signed.
  class Files
    def self.all = @all ||= new

    def initialize
      @folder = Dir.mktmpdir("plait-test-")
      Minitest.after_run { FileUtils.rm_rf(@folder) }
      authority = Certificates::Authority.new
      write("ca", authority.pair)
      write("shard", authority.issue("DNS:localhost", "IP:127.0.0.1"))
      write("node", authority.issue("IP:127.0.0.1", "DNS:redis.internal"))
      write("client", authority.issue("DNS:client"))
      write("stranger", Certificates.self_signed("DNS:localhost"))
    end

    # @return [String] the path of a file
    def [](name) = File.join(@folder, name)

    private

    def write(name, pair)
      File.write(self["#{name}.pem"], pair.certificate.to_pem)
      File.write(self["#{name}.key"], pair.key.private_to_pem)
    end
  end

  # A connection over TLS: replies as they come.
  class Conversation < Support::RedisConversation
    def initialize(port, host = "127.0.0.1", **options)
      super(port, host)
      @plain = @socket
      @socket = OpenSSL::SSL::SSLSocket.new(@plain, context(**options)).tap { |secure| secure.sync_close = true }
      @socket.session = options[:session] if options[:session]
      @socket.connect
    end

    private

    def context(certificate: nil, version: nil, **)
      OpenSSL::SSL::SSLContext.new.tap do |context|
        context.set_params(ca_file: Files.all["ca.pem"], verify_hostname: false)
        context.min_version = context.max_version = version if version
        add(context, certificate) if certificate
      end
    end

    def add(context, name)
      context.add_certificate(OpenSSL::X509::Certificate.new(File.read(Files.all["#{name}.pem"])),
                              OpenSSL::PKey.read(File.read(Files.all["#{name}.key"])))
    end

    def await(write:)
      return if @socket.pending.positive?

      IO.select([@plain], write ? [@plain] : [], nil, PATIENCE) or raise Silent, "no reply in #{PATIENCE} s"
      return unless write

      bytes = @socket.read_nonblock(1 << 16, exception: false)
      @scanner.feed(bytes) if bytes.is_a?(String)
    end
  end

  def setup
    super
    skip("the extension was built without OpenSSL") unless Plait.const_get(:NativeShard)::Plane::TLS
  end

  private

  def files = Files.all

  def for_clients(**more) = { listen: "tls://127.0.0.1:0", cert: files["shard.pem"], key: files["shard.key"], **more }

  # @yieldparam proxy [Plait::Shard::Proxy] whose clients speak TLS
  def encrypted(**options, &block)
    nodes.each { |server| call(server.port, "FLUSHALL") }
    Plait::Shard::Proxy.open(nodes: addresses, **for_clients, **options, &block)
  end

  def secure(port, **options)
    conversation = Conversation.new(port, **options)
    return conversation unless block_given?

    begin
      yield conversation
    ensure
      conversation.close
    end
  end
end
