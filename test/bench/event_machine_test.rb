# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/mariadb_server"
require_relative "../support/program"
require_relative "../../bench/server/support/served"

# The EventMachine row of `bin/bench databases`.
class EventMachineRowTest < Minitest::Test
  FILE = File.expand_path("../../bench/databases/servers/event_machine.rb", __dir__)

  def setup
    ["eventmachine", "mysql2"].each { |gem| require gem }
    Support::MariadbServer::PROGRAM.path!
  rescue LoadError
    skip("the drivers are not installed: bin/setup test drivers")
  end

  def test_its_answer_is_that_of_the_other_rows
    server = Support::MariadbServer.shared
    Plait::DB.connect("mysql2://#{server.user}@#{server.host}:#{server.port}/#{server.database}") do |db|
      db.query("CREATE TABLE plait_lab_people (id INTEGER PRIMARY KEY, name VARCHAR(20), team INTEGER)")
      db.query("INSERT INTO plait_lab_people SELECT seq, CONCAT('name', seq), seq % 100 FROM seq_7900_to_8000")
      served = serve("mysql2://#{server.user}@#{server.host}:#{server.port}/#{server.database}", 1)
      served.answer
      assert_equal("name7920 79245 1\n", Net::HTTP.get(URI("http://127.0.0.1:#{served.port}/?1")))
    ensure
      served&.stop
      db.query("DROP TABLE plait_lab_people")
    end
  end

  private

  def serve(url, size) = Bench::Server::Served.new(RbConfig.ruby, FILE, "-", url, size.to_s, "0")
end
