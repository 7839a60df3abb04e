# frozen_string_literal: true

require "rbconfig"
require "support/root"
require "support/server"

# Plait with the app of a config.ru, in a process of its own.
class AppServer < Support::Server
  # @param app [String] path of a config.ru
  # @param mechanism [String]
  # @param by [Symbol] :serve (`plait serve`) or :rackup (`rackup -s plait`)
  # @param pair [Certificates::Pair, nil]
  # @param variables [Hash{String => String}] of its environment
  def initialize(app, mechanism, by: :serve, pair: nil, variables: {})
    super()
    @app = app
    @mechanism = mechanism
    @by = by
    @pair = pair
    @variables = variables
  end

  # @return [String]
  def url = "#{@pair ? "https" : "http"}://#{host}:#{port}"

  # @return [String] a file that the app may send: PLAIT_TEST_FILE tells it where
  def file = File.join(folder, "file")

  private

  def prepare
    File.binwrite(file, Random.bytes(300_000))
    return unless @pair

    File.write(File.join(folder, "cert.pem"), @pair.certificate.to_pem)
    File.write(File.join(folder, "key.pem"), @pair.key.to_pem)
  end

  def environment = { "PLAIT_TEST_FILE" => file, "RACK_ENV" => "production", "PORT" => nil }.merge(@variables)

  def command = [RbConfig.ruby, *Support::FLAGS, *(@by == :serve ? serve : rackup), @app]

  def serve = ["#{Support::ROOT}/plait/exe/plait", "serve", "--on", @mechanism, "--workers", "0", "--bind", place]

  def place = @pair ? "ssl://#{host}:#{port}?cert=cert.pem&key=key.pem" : "tcp://#{host}:#{port}"

  def rackup
    ["-e", 'load Gem.bin_path("rackup", "rackup")', "--", "-s", "plait", "-O", "on=#{@mechanism}", "-E", "none",
     "-o", host, "-p", port.to_s]
  end

  def ready? = listening?
end
