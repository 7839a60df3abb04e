# frozen_string_literal: true

namespace :shard do
  # What both need: the tests' servers, and the library.
  task :support do
    require "minitest"
    $LOAD_PATH.unshift(*Dir[File.expand_path("../plait*/lib", __dir__)])
    require_relative "../test/support/command_rows"
    require_relative "../test/support/redis_conversation"
    require_relative "../test/support/redis_server"
  end

  desc "Make the table of the keys' places in commands from the redis-server that is installed"
  task commands: :support do
    require "plait/shard/command_table"

    Support::RedisServer.start do |server|
      reply = Support::RedisConversation.open(server.port) { |redis| redis.call("COMMAND") }
      entries = Plait::Shard.const_get(:CommandTable).new(Plait.const_get(:Protocols)::RESP.decode(reply)).entries
      File.write(Support::CommandRows::MADE, Support::CommandRows::HEADER + Support::CommandRows.of(entries).join)
      puts("#{Support::CommandRows::MADE}: #{entries.size} commands")
    end
  end

  desc "Run Redis' own Tcl tests through the proxy: UNITS=\"unit/scan unit/sort\" ARGUMENTS=\"--tags -slow\""
  task redis_suite: :support do
    require_relative "../plait-shard/test/shard/redis_suite/comparison"

    RedisSuite::Comparison.new(kept: File.expand_path("../tmp", __dir__), units: ENV.fetch("UNITS", "").split,
                               arguments: ENV.fetch("ARGUMENTS", "").split).run
  end
end
