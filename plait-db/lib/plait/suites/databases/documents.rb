# frozen_string_literal: true

require_relative "people"
require "plait/suites/common/suite"
require_relative "../../db"

module Plait
  module Suites
    class Databases < Suite
      # {People} as documents of MongoDB.
      class Documents
        BATCH = 10_000
        private_constant :BATCH

        # @param database [DB::Mongo]
        # @param seconds [Numeric] that each query takes in the server: Plait's own stand-in understands it
        def initialize(database, seconds = 0)
          @database = database
          @options = seconds.zero? ? {} : { comment: "sleep #{seconds}" }
        end

        # Makes the collection.
        # @return [void]
        def fill
          drop
          (1..People::ROWS).each_slice(BATCH) do |keys|
            collection { |people| people.insert_many(keys.map { |n| { _id: n, name: "name#{n}", team: n % People::GROUPS } }) }
          end
          collection { |people| people.indexes.create_one({ team: 1 }) }
        end

        # @return [void]
        def drop = collection(&:drop)

        # @return [Array(String, Integer, Integer)] see {People#ask}
        def ask(number)
          key = People.key(number)
          collection do |people|
            [people.find({ _id: key }, @options).first[:name],
             people.find({ _id: { "$in" => [*key...(key + People::RANGE)] } }, @options).sum { |one| one[:_id] },
             people.find({ team: number % People::GROUPS }, @options.merge(projection: { _id: 1 })).count_documents]
          end
        end

        private

        def collection = @database.with { |client| yield client[People::TABLE] }
      end
    end
  end
end
