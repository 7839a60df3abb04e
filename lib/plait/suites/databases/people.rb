# frozen_string_literal: true

require_relative "../suite"
require_relative "../../db"
require_relative "../../../plait" # which the bridges call: Plait.offload, Plait.timeout

module Plait
  module Suites
    class Databases < Suite
      # What is asked for an item, by one driver: the same of each.
      class People
        ROWS = 100_000
        RANGE = 10
        GROUPS = 100
        TABLE = "plait_lab_people"

        # @param server [Server]
        # @param way [String] the scheme of its URL
        # @param connections [Integer]
        # @param latency [Numeric] seconds
        def initialize(server, way, connections:, latency:)
          @server = server
          @way = way
          @connections = connections
          @latency = latency
          @lock = Mutex.new
        end

        # @return [Proc] item => [name, sum of a range, people of a group]
        def to_proc = method(:ask).to_proc

        private

        def ask(item)
          key = (item * 7919 % ROWS) + 1
          [value("name", "id = #{key}"),
           Integer(value("SUM(id)", "id BETWEEN #{key} AND #{key + RANGE - 1}")),
           Integer(value("COUNT(*)", "team = #{item % GROUPS}"))]
        end

        # The server itself waits, in the same statement.
        def value(what, condition)
          from = @latency.zero? ? TABLE : "#{TABLE}, #{@server.pause(@latency)}"
          database.query("SELECT #{what} FROM #{from} WHERE #{condition}").value
        end

        # Of the process that measures: what is measured is begun in it.
        def database
          return @database if @pid == Process.pid

          @lock.synchronize do
            @database = DB.connect(@server.url(@way), size: @connections, timeout: nil) if @pid != Process.pid
            @pid = Process.pid
            @database
          end
        end
      end
    end
  end
end
