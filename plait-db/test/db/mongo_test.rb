# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "support/mongo_server"
require "plait/db"

class DBMongoTest < Minitest::Test
  def setup
    require "mongo"
    @db = Plait::DB.connect(Support::MongoServer.url, size: 4)
    @db.with { |client| client[:pairs].drop }
    documents = (1..5).map { |n| { _id: n, word: "w#{n}", odd: n.odd?, sub: { n: n * 10 } } }
    @db.with { |client| client[:pairs].insert_many(documents) }
  rescue LoadError
    skip("the gem mongo is not installed: bin/setup test drivers")
  end

  def teardown
    @db&.close
  end

  attr_reader :db

  def pairs = db.with { |client| client[:pairs] }

  # @return [Integer] connections that are lent, that are being made, and that somebody waits for
  def unavailable
    db.with { |client| client.cluster.servers.filter_map(&:pool_internal).sum(&:unavailable_connections) }
  end

  def ids(filter, **options) = pairs.find(filter, options).map { |document| document["_id"] }

  def self.under_each(name, &block)
    %i[threads fibers].each do |on|
      define_method(:"test_#{name}_on_#{on}") { Plait.run(on: on) { instance_exec(on, &block) } }
    end
  end

  under_each("commands") do
    assert_equal(5, db.query(count: "pairs")["n"])
    assert_equal(1.0, db.query(ping: 1)["ok"])
    error = assert_raises(::Mongo::Error::OperationFailure) { db.query(nonsense: 1) }
    assert_equal(59, error.code)
  end

  under_each("finding") do
    assert_equal([2], ids({ word: "w2" }))
    assert_equal([4, 5], ids({ _id: { "$gt" => 3 } }))
    assert_equal([1, 2, 5], ids({ "$or" => [{ _id: { "$lte" => 2 } }, { "sub.n" => 50 }] }))
    assert_equal([5, 3], ids({ odd: true }, sort: { _id: -1 }, limit: 2))
    assert_equal([3], ids({ _id: { "$in" => [3, 9] }, none: { "$exists" => false } }))
    assert_nil(pairs.find(_id: 77).first)
  end

  under_each("changing") do
    assert_equal(1, pairs.update_one({ _id: 1 }, { "$set" => { word: "new" }, "$inc" => { "n" => 2 } }).modified_count)
    assert_equal(["new", 2], pairs.find(_id: 1).first.values_at("word", "n"))
    assert_equal(3, pairs.update_many({ odd: true }, { "$push" => { list: 1 } }).matched_count)
    assert_equal(9, pairs.update_one({ _id: 9 }, { "$set" => { word: "up" } }, upsert: true).upserted_id)
    assert_equal(2, pairs.delete_many(_id: { "$gte" => 5 }).deleted_count)
    assert_equal([1, 2, 3, 4], ids({}))
  end

  under_each("fields_of_fields") do
    pairs.update_one({ _id: 1 }, { "$set" => { "sub.m" => 2, "new.deep" => 3 }, "$unset" => { "sub.n" => 1, "odd" => 1 } })
    assert_equal({ "_id" => 1, "word" => "w1", "sub" => { "m" => 2 }, "new" => { "deep" => 3 } }, pairs.find(_id: 1).first)
    assert_empty(ids({ _id: nil }))
  end

  # Its answer is an error; the connection goes on.
  under_each("what_the_stand_in_can_not_do") do
    skip("a real MongoDB can") if Support::MongoServer.real?
    error = assert_raises(::Mongo::Error::OperationFailure) do
      pairs.aggregate([{ "$group" => { _id: nil, all: { "$sum" => "$word" } } }]).to_a
    end
    assert_match(/this stand-in for MongoDB can't do that/, error.message)
    assert_equal(5, db.query(count: "pairs")["n"])
  end

  # A wrong answer would pass for MongoDB's.
  CAN_NOT = {
    projection: ->(c) { c.find({}, projection: { word: 1 }).first },
    a_collation: ->(c) { c.find({}, collation: { locale: "de" }).first },
    a_regex: ->(c) { c.find(word: /w/).first }, a_regex_as_key: ->(c) { c.find(_id: /none/).first },
    a_regex_in_a_list: ->(c) { c.find(word: { "$in" => [/w/] }).first }, regex: ->(c) { c.find(word: { "$regex" => "w" }).first },
    nor: ->(c) { c.find("$nor" => [{ odd: true }]).first }, expr: ->(c) { c.find("$expr" => true).first },
    through_a_list: ->(c) { c.find("subs.n" => 1).first }, elem_match: ->(c) { c.find(list: { "$elemMatch" => { n: 1 } }).first },
    mixed_order: ->(c) { c.find({}, sort: { mixed: 1 }).first }, order_of_lists: ->(c) { c.find(list: { "$gt" => 1 }).first },
    push_each: ->(c) { c.update_one({ _id: 77 }, { "$push" => { list: { "$each" => [1] } } }) },
    array_filters: ->(c) { c.update_one({ _id: 1 }, { "$set" => { a: 1 } }, array_filters: [{ x: 1 }]) },
    set_in_a_list: ->(c) { c.update_one({ _id: 6 }, { "$set" => { "list.0" => 1 } }) },
    another_id: ->(c) { c.update_one({ _id: 1 }, { "$set" => { _id: 2 } }) },
    rename: ->(c) { c.update_one({ _id: 77 }, { "$rename" => { a: "b" } }) },
    upsert: ->(c) { c.update_one({ n: { "$gt" => 5 } }, { "$set" => { a: 1 } }, upsert: true) },
    group_by_an_expression: ->(c) { c.aggregate([{ "$group" => { _id: { "$toLower" => "$word" } } }]).to_a },
    group_first: ->(c) { c.aggregate([{ "$group" => { _id: 1, a: { "$first" => "$none" } } }]).to_a },
    root: ->(c) { c.aggregate([{ "$group" => { _id: 1, a: { "$max" => "$$ROOT" } } }]).to_a },
    project: ->(c) { c.aggregate([{ "$project" => { word: 1 } }]).to_a },
    sparse: ->(c) { c.indexes.create_one({ a: 1 }, sparse: true) },
    text_index: ->(c) { c.indexes.create_one({ a: "text" }) }, distinct: ->(c) { c.distinct(:word) }
  }.freeze

  CAN_NOT.each do |name, ask|
    define_method(:"test_the_stand_in_refuses_#{name}") do
      skip("a real MongoDB can") if Support::MongoServer.real?
      pairs.insert_one(_id: 6, list: [1, 2], subs: [{ n: 1 }], mixed: "text")
      pairs.insert_one(_id: 7, mixed: 5)
      assert_raises(::Mongo::Error::OperationFailure) { ask.call(pairs) }
      assert_equal(7, db.query(count: "pairs")["n"])
    end
  end

  under_each("lists_and_what_is_not_there") do
    pairs.insert_many([{ _id: 6, list: [1, 2], none: nil }, { _id: 7.0, list: [3, [1, 2]] }, { _id: 8, list: { a: 1, b: 2 } }])
    assert_equal([6], ids({ list: { "$in" => [2, 9] } }))
    assert_equal([6, 7], ids({ list: [1, 2] }).sort)
    assert_equal([1, 2, 3, 4, 5, 7, 8], ids({ list: { "$ne" => 1 } }).sort)
    assert_equal([1, 2, 3, 4, 5, 8], ids({ list: { "$nin" => [1, 3] } }).sort)
    assert_equal([6], ids({ none: { "$exists" => true } }))
    assert_equal([1, 2], ids({ _id: { "$in" => [1, 2, 2, 1.0] } }).sort)
    assert_equal([7], ids({ _id: 7 }))
    assert_equal([[8], []], [ids({ list: { a: 1, b: 2 } }), ids({ list: { b: 2, a: 1 } })])
    assert_equal(2, db.query(count: "pairs", query: { odd: true }, skip: 1, limit: 5)["n"])
  end

  def test_what_the_url_says_goes_before_what_is_usual
    url = "#{Support::MongoServer.url}?maxPoolSize=3&serverSelectionTimeoutMS=1500&waitQueueTimeoutMS=700"
    Plait::DB.connect(url) do |database|
      names = %i[max_pool_size server_selection_timeout wait_queue_timeout]
      assert_equal([3, 1.5, 0.7], database.with { |client| names.map { |name| client.options[name] } })
      assert_equal(3, database.statistics[:size])
    end
  end

  under_each("unique_keys") do
    pairs.indexes.create_one({ word: 1 }, unique: true)
    error = assert_raises(::Mongo::Error::OperationFailure) { pairs.insert_one(_id: 6, word: "w1") }
    assert_match(/E11000/, error.message)
    assert_raises(::Mongo::Error::OperationFailure) { pairs.insert_one(_id: 1) }
    assert_equal(5, pairs.count_documents)
  end

  under_each("aggregating") do
    stages = [{ "$match" => { _id: { "$lt" => 5 } } },
              { "$group" => { _id: "$odd", n: { "$sum" => 1 }, most: { "$max" => "$_id" }, mean: { "$avg" => "$sub.n" } } },
              { "$sort" => { most: 1 } }]
    expected = [[true, 2, 3, 20.0], [false, 2, 4, 30.0]].map { |values| %w[_id n most mean].zip(values).to_h }
    assert_equal(expected, pairs.aggregate(stages).map(&:to_h))
    assert_equal([{ "all" => 5 }], pairs.aggregate([{ "$count" => "all" }]).map(&:to_h))
  end

  under_each("a_stream_with_a_cursor") do
    db.with { |client| client[:many].drop }
    db.with { |client| client[:many].insert_many((0...1000).map { |n| { _id: n } }) }
    seen = []
    db.stream("many", {}, sort: { _id: 1 }, batch_size: 150) { |document| seen << document["_id"] }
    assert_equal((0...1000).to_a, seen)
    db.stream("many", {}, batch_size: 10) { break }
    assert_equal(1000, db.query(count: "many")["n"])
  end

  under_each("no_answer_is_anybody_elses") do |on|
    skip("a real MongoDB does not sleep when asked") if Support::MongoServer.real?
    random = Random.new(8)
    items = Array.new(120) { |n| [n, random.rand(0.002..0.05)] }
    outcomes = Plait.map(items, on: on, limit: 12, on_error: :collect) do |n, limit|
      Plait.timeout(limit) { pairs.find({ _id: (n % 5) + 1 }, comment: "sleep 0.01").first["_id"] }
    end
    outcomes.each_with_index { |outcome, n| assert_equal((n % 5) + 1, outcome.value) if outcome.ok? }
    assert_equal([Plait::TimeoutError], outcomes.filter_map(&:error).map(&:class).uniq)
    assert_equal(0, db.statistics[:busy])
    assert_equal(5, db.query(count: "pairs")["n"])
  end

  # The next call may have the connection before the driver's method returns.
  def test_a_connection_that_somebody_has_at_once_is_given_back_once
    slow = TracePoint.new(:return) { |point| sleep(0.005) if point.method_id == :check_in && point.path.include?("/mongo/") }
    Plait::DB.connect(Support::MongoServer.url, size: 2) do |few|
      few.query(ping: 1)
      slow.enable
      assert_equal([1.0] * 60, Plait.map(1..60, on: :threads, limit: 6) { few.query(ping: 1)["ok"] })
    ensure
      slow.disable
    end
  end

  # The driver itself counts who was killed while he waits for a place for ever.
  def test_kills_at_any_moment
    40.times do
      threads = Array.new(12) { Thread.new { loop { pairs.find({ _id: 1 }).first } } }
      sleep(rand * 0.01)
      threads.each(&:kill).each(&:join)
      assert_equal([0, 0], [unavailable, db.statistics[:busy]])
    end
    assert_equal(5, db.query(count: "pairs")["n"])
  end

  def test_a_server_that_is_gone_and_comes_back
    Support::MongoServer.start do |server|
      Plait::DB.connect(server.url, server_selection_timeout: 6) do |mine|
        assert_equal(1.0, mine.query(ping: 1)["ok"])
        server.restart(:KILL) do
          assert_raises(::Mongo::Error) { mine.with { |client| client[:pairs].insert_one(_id: 1) } }
        end
        %i[threads fibers].each { |on| assert_equal([1.0] * 5, Plait.map(1..5, on: on) { mine.query(ping: 1)["ok"] }) }
      end
    end
  end

  def test_a_fork_has_a_client_of_its_own
    result = Support::FreshRuby.run(<<~RUBY, Support::MongoServer.url)
      require "plait"
      Plait::DB.connect(ARGV[0]) do |db|
        mine = db.with(&:object_id)
        print(db.query(ping: 1)["ok"])
        Process.wait(fork { print([db.query(ping: 1)["ok"], db.with(&:object_id) == mine]) })
        print(db.query(ping: 1)["ok"])
      end
    RUBY
    assert_equal("1.0[1.0, false]1.0", result.out, result.err)
  end

  # A client whose commit ends with this error: the stand-in has no transactions.
  Transacting = Struct.new(:error) do
    def start_session = yield(self)

    def with_transaction
      yield
      raise error
    end
  end

  def test_a_commit_without_an_answer_may_be_done
    unknown = ::Mongo::Error::SocketError.new.tap { |error| error.add_label("UnknownTransactionCommitResult") }
    { unknown => Plait::DB::CommitUnknown, Class.new(StandardError) => Plait::DB::CommitUnknown,
      ::Mongo::Error::OperationFailure.new("conflict") => ::Mongo::Error::OperationFailure }.each do |error, told|
      db.stub(:client, Transacting.new(error)) { assert_raises(told) { db.transaction { 1 } } }
    end
    db.stub(:client, Transacting.new(nil)) { assert_raises(KeyError) { db.transaction { raise KeyError } } }
  end

  def test_options_of_the_pool_are_the_drivers
    assert_equal(4, db.with { |client| client.options[:max_pool_size] })
    error = assert_raises(Plait::UsageError) { Plait::DB.connect(Support::MongoServer.url, max_lifetime: 5) }
    assert_match(/max_lifetime: is unknown to MongoDB's driver/, error.message)
  end
end
