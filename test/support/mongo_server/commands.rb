# frozen_string_literal: true

require "bson"
require_relative "collection"
require_relative "cursors"
require_relative "refused"

module Support
  class MongoStandIn
    # What the server can do: each command by its name, as drivers send them.
    class Commands
      COMMAND_NOT_FOUND = 59
      ABOUT = {
        "isWritablePrimary" => true, "ismaster" => true, "helloOk" => true, "minWireVersion" => 0, "maxWireVersion" => 21,
        "maxBsonObjectSize" => 16 * 1024 * 1024, "maxMessageSizeBytes" => 48_000_000, "maxWriteBatchSize" => 100_000,
        "logicalSessionTimeoutMinutes" => 30, "readOnly" => false
      }.freeze
      NAMES = {
        "hello" => :hello, "ismaster" => :hello, "isMaster" => :hello, "ping" => :nothing, "endSessions" => :nothing,
        "buildInfo" => :build_info, "insert" => :insert, "find" => :find, "getMore" => :get_more,
        "killCursors" => :kill_cursors, "update" => :update, "delete" => :delete, "aggregate" => :aggregate,
        "count" => :count, "createIndexes" => :create_indexes, "listIndexes" => :list_indexes, "drop" => :drop,
        "dropDatabase" => :drop_database
      }.freeze
      # What may stand in any command, and what in these. All else would change the answer.
      EVERYWHERE = %w[$db lsid $clusterTime $readPreference comment maxTimeMS readConcern writeConcern txnNumber].freeze
      KNOWN = {
        insert: %w[documents ordered bypassDocumentValidation],
        find: %w[filter sort skip limit batchSize singleBatch noCursorTimeout allowDiskUse],
        get_more: %w[collection batchSize], kill_cursors: %w[cursors], update: %w[updates ordered bypassDocumentValidation],
        delete: %w[deletes ordered], aggregate: %w[pipeline cursor allowDiskUse], count: %w[query skip limit],
        create_indexes: %w[indexes], list_indexes: %w[cursor], drop: [], drop_database: []
      }.freeze
      # Of the parts of updates, deletes and indexes.
      KNOWN_PARTS = { "updates" => %w[q u multi upsert], "deletes" => %w[q limit],
                      "indexes" => %w[v key name unique background] }.freeze
      PAUSE = /\Asleep (\d+(?:\.\d+)?)\z/
      private_constant :COMMAND_NOT_FOUND, :ABOUT, :NAMES, :EVERYWHERE, :KNOWN, :KNOWN_PARTS, :PAUSE

      def initialize
        @lock = Mutex.new
        @collections = {}
        @cursors = Cursors.new
      end

      # @param command [Hash] the first name is the command's
      # @return [Hash] the answer
      def call(command)
        pause(command["comment"])
        name = NAMES.fetch(command.keys.first) do |unknown|
          raise Refused.new(COMMAND_NOT_FOUND, "no such command: '#{unknown}'")
        end
        check(name, command)
        { "ok" => 1.0 }.merge(@lock.synchronize { send(name, command) })
      rescue Refused => e
        { "ok" => 0.0, "errmsg" => e.message, "code" => e.code }
      rescue StandardError => e
        refused = Refused.cannot(e.message)
        { "ok" => 0.0, "errmsg" => refused.message, "code" => refused.code }
      end

      private

      # @raise [Refused] when there is a word that would change the answer
      def check(name, command)
        known = KNOWN[name] or return
        refuse_unknown(command.keys.drop(1) - EVERYWHERE - known)
        KNOWN_PARTS.each do |list, words|
          command.fetch(list, []).each { |part| refuse_unknown(part.keys - words) }
        end
      end

      def refuse_unknown(words) = words.empty? || raise(Refused.cannot(words.join(", ")))

      def pause(comment) = (seconds = comment.to_s[PAUSE, 1]) && sleep(Float(seconds))

      def hello(_) = ABOUT.merge("localTime" => Time.now, "connectionId" => 1)

      def nothing(_) = {}

      def build_info(_) = { "version" => "7.0.0", "versionArray" => [7, 0, 0, 0] }

      def insert(command)
        collection = in_it(command)
        written(command["documents"], ordered: command.fetch("ordered", true)) { |one| collection.insert(one) && 1 }
      end

      def update(command)
        modified = 0
        upserted = []
        written(command["updates"]) do |one, index|
          options = { multi: one["multi"] || false, upsert: one["upsert"] || false }
          found, changed, id = in_it(command).update(one["q"], one["u"], **options)
          modified += changed
          upserted << { "index" => index, "_id" => id } if id
          id ? 1 : found
        end.merge("nModified" => modified, **(upserted.any? ? { "upserted" => upserted } : {}))
      end

      def delete(command) = written(command["deletes"]) { |one| in_it(command).delete(one["q"], one["limit"]) }

      # @yieldreturn [Integer] documents that one of them was about
      def written(all, ordered: true)
        errors = []
        count = 0
        all.each_with_index do |one, index|
          count += yield(one, index)
        rescue Refused => e
          errors << { "index" => index, "code" => e.code, "errmsg" => e.message }
          break if ordered
        end
        { "n" => count, **(errors.any? ? { "writeErrors" => errors } : {}) }
      end

      def find(command)
        found = in_it(command).find(command["filter"] || {}, sort: command["sort"], skip: command["skip"],
                                                             limit: command["limit"])
        @cursors.open(namespace(command), found, command["batchSize"], single: command["singleBatch"])
      end

      def aggregate(command)
        found = in_it(command).aggregate(command["pipeline"])
        @cursors.open(namespace(command), found, command.dig("cursor", "batchSize"))
      end

      def count(command)
        { "n" => in_it(command).find(command["query"] || {}, skip: command["skip"], limit: command["limit"]).size }
      end

      def get_more(command)
        @cursors.advance(command["getMore"].to_i, "#{command["$db"]}.#{command["collection"]}", command["batchSize"])
      end

      def kill_cursors(command) = { "cursorsKilled" => @cursors.close(command["cursors"].map(&:to_i)) }

      def create_indexes(command)
        odd = command["indexes"].find { |index| (index["key"].values - [1, -1]).any? }
        raise Refused.cannot("an index of another kind than 1 and -1") if odd

        before = in_it(command).indexes.size
        command["indexes"].each { |index| in_it(command).indexes[index["name"]] = { "v" => 2 }.merge(index) }
        { "numIndexesBefore" => before, "numIndexesAfter" => in_it(command).indexes.size }
      end

      def list_indexes(command) = @cursors.open(namespace(command), in_it(command).indexes.values, nil)

      def drop(command)
        @collections.delete(namespace(command))
        {}
      end

      def drop_database(command)
        @collections.delete_if { |name, _| name.start_with?("#{command["$db"]}.") }
        {}
      end

      def in_it(command) = @collections[namespace(command)] ||= Collection.new(namespace(command))

      def namespace(command) = "#{command["$db"]}.#{command.values.first}"
    end
  end
end
