# frozen_string_literal: true

require "rbconfig"
require_relative "documents"
require_relative "server"
require "plait/suites/common/suite"

module Plait
  module Suites
    class Databases < Suite
      # Plait's own stand-in for a MongoDB, which says nothing about the speed of one: what it shows is the driver's part.
      class Mongo < Server
        PROGRAMS = [].freeze
        FOLDERS_OF_ITS_OWN = [].freeze
        WAYS = { "mongodb" => "mongo" }.freeze
        GEMS = { "mongodb" => %w[mongo bson] }.freeze
        STOP = :TERM

        # @return [String]
        def name = "mongodb"

        # @return [String]
        def title = "a stand-in for MongoDB"

        # @return [String]
        def url(_way) = "mongodb://#{HOST}:#{@port}/lab"

        # @return [Integer] see {Server#most}: it is a Ruby program with a thread for each connection
        def most = 1000

        # @param seconds [Numeric]
        # @return [String] as {Documents} takes it
        def pause(seconds) = seconds.to_s

        # Makes the collection.
        # @param db [DB::Mongo]
        def fill(db) = Documents.new(db).fill

        # @param db [DB::Mongo]
        def clean(db) = Documents.new(db).drop

        private

        def prepare = nil

        def command
          [RbConfig.ruby, *$LOAD_PATH.map { |path| "-I#{path}" }, "-rplait", "-rplait/suites/databases/mongo_server", "-e",
           "Plait::Suites::MongoServer.new(port: #{@port}).run"]
        end

        def ready?
          TCPSocket.open(HOST, @port).close
          true
        rescue SystemCallError
          false
        end
      end
    end
  end
end
