# frozen_string_literal: true

require_relative "packages"

module Support
  # What test files need besides Ruby and a compiler: groups of the Gemfile and system packages, read off what they and the
  # files that they require name. A name too many costs an install, one too few a test that is skipped, and says so.
  class Needs
    # The gems of a group, as tests name them.
    GROUPS = {
      "development" => /["'](?:rake|rbs|rubocop|simplecov|yard)["']/,
      "classic" => %r{["']msgpack[-/]rpc["']},
      "drivers" => %r{["'](?:action_controller/railtie|active_record|active_support|async|brotli|faraday|mongo|
                            msgpack|mysql2|net/http/persistent|net-http-persistent|pg|redis-client|redis_client|roda|sequel|
                            mongoid|opentelemetry-sdk|rails|sidekiq|sinatra/base|sqlite3|trilogy|webmock)["']|
                            %w\[trilogy|\b(?:Async|Brotli|Faraday|Sync|WebMock)\b}x,
      "jruby" => /\bJRuby\b/
    }.freeze
    # What is there in every case: without it there is no extension.
    COMPILER = %w[build-essential ruby-dev].freeze
    HEADERS = { "drivers" => %w[libssl-dev libmariadb-dev libpq-dev], "jruby" => %w[default-jre-headless] }.freeze

    # @return [Array<String>] groups of the Gemfile
    attr_reader :groups
    # @return [Array<String>] names out of {Packages::ALL}
    attr_reader :packages

    # @return [Needs] of all tests
    def self.everything = new(["test", *GROUPS.keys], Packages::ALL.keys)

    # @param files [Array<String>] absolute paths of test files
    # @return [Needs]
    def self.of(files)
      text = closure(files).map { |file| File.read(file) }.join("\n")
      groups = GROUPS.select { |_, sign| sign.match?(text) }.keys
      servers = text.scan(/\bapt: "([^"]+)"/).flatten & Packages::ALL.keys
      new(["test", *groups], COMPILER + HEADERS.values_at(*groups).flatten.compact + servers)
    end

    # @return [Array<String>] the files and all that they require, but for what they require under a condition
    def self.closure(files)
      found = []
      waiting = files.dup
      while (file = waiting.shift)
        next if found.include?(file) || !File.file?(file)

        found << file
        waiting.concat(required(file))
      end
      found
    end

    # Of the tests' own files: those beside it, and what all gems share.
    def self.required(file)
      text = File.read(file)
      beside = text.scan(/^\s*require_relative "([^"]+)"$/).flatten.map { |name| File.expand_path(name, File.dirname(file)) }
      shared = text.scan(%r{^\s*require "(support/[^"]+)"$}).flatten.map { |name| File.expand_path("../#{name}", __dir__) }
      (beside + shared).map { |path| "#{path.delete_suffix(".rb")}.rb" }
    end
    private_class_method :closure, :required

    def initialize(groups, packages)
      @groups = groups
      @packages = packages.uniq
    end
  end
end
