# frozen_string_literal: true

require "plait/suites/common/suite"
require_relative "../../db"
require "plait" # which the bridges call: Plait.offload, Plait.timeout

module Plait
  module Suites
    class Databases < Suite
      # What is asked for an item: one of 100,000 people by key, ten by range, and how many are in a team. The same of each
      # database.
      class People
        ROWS = 100_000
        RANGE = 10
        GROUPS = 100
        TABLE = "plait_lab_people"

        # @param number [Integer] of an item
        # @return [Integer] a key
        def self.key(number) = (number * 7919 % (ROWS - RANGE)) + 1

        # @param number [Integer] of an item
        # @param pause [String, nil] what stands in a FROM and takes its time, once
        # @return [Array<String>] three statements with one value each
        def self.statements(number, pause = nil)
          key = key(number)
          from = pause ? "#{TABLE}, #{pause}" : TABLE
          ["SELECT name FROM #{from} WHERE id = #{key}",
           "SELECT SUM(id) FROM #{from} WHERE id BETWEEN #{key} AND #{key + RANGE - 1}",
           "SELECT COUNT(*) FROM #{from} WHERE team = #{number % GROUPS}"]
        end

        # @param database [DB::Database]
        # @param pause [String, nil] see {statements}
        def initialize(database, pause = nil)
          @database = database
          @pause = pause
        end

        # @param number [Integer]
        # @return [Array(String, Integer, Integer)] name, sum of a range, people of a team
        def ask(number)
          name, sum, count = People.statements(number, @pause).map { |sql| @database.query(sql).value }
          [name, Integer(sum), Integer(count)]
        end
      end
    end
  end
end
