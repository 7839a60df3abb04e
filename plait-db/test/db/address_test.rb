# frozen_string_literal: true

require "test_helper"
require "plait/db"

class DBAddressTest < Minitest::Test
  Address = Plait::DB.const_get(:Address)

  def test_all_parts
    address = Address.parse("trilogy://ada:l%40ce+1@db.example:3307/a%20shop?read_timeout=2.5&ssl=true&code=utf8&n=7&name=007")
    assert_equal(%w[trilogy ada l@ce+1 db.example], [address.scheme, address.user, address.password, address.host])
    assert_equal([3307, "a shop"], [address.port, address.database])
    assert_equal({ read_timeout: 2.5, ssl: true, code: "utf8", n: 7, name: "007" }, address.options)
  end

  def test_few_parts
    address = Address.parse("mysql2:///shop")
    assert_equal([nil, nil, nil, nil, "shop"],
                 [address.user, address.password, address.host, address.port, address.database])
    assert_equal({}, address.options)
    assert_nil(Address.parse("mongodb+srv://cluster").database)
    assert_equal("::1", Address.parse("trilogy://[::1]:3306/x").host)
  end

  def test_a_file
    { "sqlite:data/my.db" => "data/my.db", "sqlite:/abs/my.db?readonly=true" => "/abs/my.db", "sqlite::memory:" => ":memory:",
      "sqlite:///abs/a%20b.db" => "/abs/a b.db" }.each { |url, file| assert_equal(file, Address.parse(url).file) }
  end

  def test_no_password_in_what_is_shown
    assert_equal("mysql2://ada@h/x", Address.parse("mysql2://ada:secret@h/x?sslkey=also").to_s)
    ["se/cret", "se@cret", "se?cret"].each { |word| refute_match(/cret/, Address.parse("mysql2://ada:#{word}@h/x").to_s) }
    refute_match(/secret/, assert_raises(Plait::UsageError) { Address.parse("mysql2://ada:secret@h h/x").host }.message)
  end

  def test_no_password_in_an_error
    ["POSTGRES://shop:s3cret@db/x", " postgres://shop:s3cret@db/x", '"postgres://shop:s3cret@db/x"', "shop:s3cret@db/x",
     "postgres://shop:s3cret@[db/x", "postgres://shop:s3%zzcret@db/x", "postgres://shop:s3%00cret@db/x",
     "postgres:shop:s3cret@db", "postgres://sh/op:s3cret@db/x", "mongodb://shop:x:s3/cret@db/x",
     "trilogy://shop:x/y?s3cret@db/x"].each do |url|
      error = assert_raises(Plait::UsageError, url) { Plait::DB.connect(url) }
      refute_match(/s3|cret/, error.full_message(highlight: false))
    end
  end

  def test_no_password_in_an_error_of_a_driver
    { "redis_client" => "redis://shop:s3 cret@127.0.0.1:1/0",
      "mongo" => "mongodb://shop:s3:cret@127.0.0.1:1/a.b" }.each do |gem, url|
      next unless $LOAD_PATH.resolve_feature_path(gem)

      error = assert_raises(Plait::UsageError, url) { Plait::DB.connect(url) { |database| database.query("PING") } }
      refute_match(/s3|cret/, error.full_message(highlight: false))
    end
  end

  def test_urls_of_servers
    ["postgres:///x", "postgres://%2Frun%2Fpg/x", "postgres://a:b@h1:1,[::1]:2,h3/a%20b?x=1", 'postgres://a:b:c[#@h',
     "redis://:p@h/0", "rediss://h", "mongodb://a:b@h1:1,h2:2/x?replicaSet=r", "mongodb+srv://cluster",
     "trilogy://[fe80::1%eth0]:3306/x"].each do |url|
      assert_equal(url, Address.parse(url).check.url)
    end
  end

  def test_what_is_no_url
    ["", "nothing", "://x", nil, 5].each { |url| assert_raises(Plait::UsageError) { Address.parse(url) } }
  end

  def test_a_file_without_a_name
    ["sqlite:", "sqlite://", "sqlite:?timeout=5"].each do |url|
      error = assert_raises(Plait::UsageError, url) { Address.parse(url).file }
      assert_match(/sqlite: needs the name of a file, as in sqlite:shop.db/, error.message)
    end
  end
end
