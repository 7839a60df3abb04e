# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "support/mongo_server"

class DBMongoidTest < Minitest::Test
  # Mongoid takes seconds to start.
  def hard_timeout = 400

  MODELS = <<~'RUBY'
    require "plait"
    require "plait/db/mongoid"
    Mongoid.configure do |config|
      config.clients.default = { uri: ARGV[0], options: { max_pool_size: 10 } }
      config.log_level = :fatal
    end
    class Person
      include Mongoid::Document
      field :name, type: String
      field :team, type: Integer
      embeds_many :notes
      scope :of, ->(team) { where(team: team) }
      before_save { self.name = name.downcase }
    end
    class Note
      include Mongoid::Document
      field :text, type: String
      embedded_in :person
    end
    Person.delete_all
    check = ->(what, fine) { puts("wrong: #{what}") unless fine }
  RUBY

  # Each fiber has its own scope, although all of them are in one at once, and gets its own documents.
  PROGRAM = MODELS + <<~'RUBY'
    ids = (1..100).to_a
    Plait.map(ids, on: :fibers, limit: 50) do |id|
      Person.create!(_id: id, name: "N#{id}", team: id % 10, notes: [Note.new(text: "t#{id}")])
    end
    found = Plait.map(ids, on: :fibers, limit: 50) do |id|
      Person.with_scope(Person.of(id % 10)) do
        sleep(0.001)
        person = Person.find_by(id: id)
        [person.name, person.notes.first.text, Person.count, Person.unscoped.find(id).team]
      end
    end
    check.call("documents", found == ids.map { |id| ["n#{id}", "t#{id}", 10, id % 10] })
    check.call("a scope that is over", Person.count == 100)

    Plait.map(ids, on: :fibers, limit: 50) { |id| Person.find(id).update!(name: "new#{id}") }
    cut = Plait.map(ids, on: :fibers, limit: 50, on_error: :collect) do |id|
      Plait.timeout(id.odd? ? 0.001 : 60) { Person.where(id: id).comment("sleep 0.01").first.name }
    end
    cut.each_with_index { |outcome, n| check.call("another's answer", outcome.value == "new#{n + 1}") if outcome.ok? }
    check.call("some that were cut", cut.count(&:error).between?(1, 50))
    all = Plait.map(ids, on: :hybrid, limit: 50) { |id| Person.find(id).name }
    check.call("after that", all == ids.map { |id| "new#{id}" })
    puts "done"
  RUBY

  def test_models
    assert_equal("done\n", run_with(PROGRAM).out)
  end

  def test_state_by_thread_is_refused
    result = run_with("#{MODELS}\nputs Mongoid::Config.isolation_level\nMongoid::Config.isolation_level = :thread")
    assert_match(/Mongoid's isolation_level must stay :fiber/, result.err)
  end

  # Those fibers would see nothing of the scope around them.
  def test_fibers_of_callbacks_are_refused_where_they_inherit_nothing
    skip("Ruby hands a fiber's storage on") if Fiber.respond_to?(:[])
    result = run_with("#{MODELS}\nMongoid.around_callbacks_for_embeds = true")
    assert_match(/around_callbacks_for_embeds runs callbacks in fibers/, result.err)
  end

  private

  def run_with(program)
    skip("the gem mongoid is not installed: bin/setup test drivers") unless Gem.loaded_specs.key?("mongoid")
    Support::FreshRuby.run(program, Support::MongoServer.url).tap { |result| @error = result.err }
  end

  # What went wrong in the other process.
  def message(given = nil, *rest, &block) = super(given || @error, *rest, &block)
end
