# frozen_string_literal: true

require "rbconfig"
require_relative "../../support/root"
require_relative "../../support/server"

module Frameworks
  # An app of a framework, unchanged, under Plait in a process of its own.
  class Server < Support::Server
    FOLDER = __dir__

    # @param app [String] of a file *.ru in this folder
    # @param mechanism [String]
    # @param by [Symbol] :serve (`plait serve`) or :rackup (`rackup -s plait`)
    def initialize(app, mechanism, by: :serve)
      super()
      @path = File.join(FOLDER, "#{app}.ru")
      @mechanism = mechanism
      @by = by
    end

    # @return [String] a file that the apps send
    def file = File.join(folder, "file")

    private

    def prepare = File.binwrite(file, Random.bytes(300_000))

    def environment = { "FRAMEWORK_FILE" => file, "RACK_ENV" => "production", "PORT" => nil }

    def command = [RbConfig.ruby, "-I#{Support::ROOT}/lib", *(@by == :serve ? serve : rackup)]

    def serve = ["#{Support::ROOT}/exe/plait", "serve", @path, "--on", @mechanism, "--bind", "tcp://#{host}:#{port}"]

    def rackup
      ["-e", 'load Gem.bin_path("rackup", "rackup")', "--", "-s", "plait", "-O", "on=#{@mechanism}", "-E", "none",
       "-o", host, "-p", port.to_s, @path]
    end

    def ready? = listening?
  end
end
