# frozen_string_literal: true

require "test_helper"
require "plait/values/secrets"

class SecretsTest < Minitest::Test
  HIDDEN = {
    "http://user:s3cret@host/a" => "http://…@host/a",
    "redis://:s3cret@host:1/0 and http://u:s3/cret@b/" => "redis://…@host:1/0 and http://…@b/",
    "user:s3cret@host/a" => "…@host/a",
    "http://h/?a=1&access_token=s3cret&b=2" => "http://h/?a=1&access_token=…&b=2",
    "Authorization: Bearer s3cret" => "Authorization: Bearer …",
    '{"password":"s3cret","a":1}' => '{"password":"…","a":1}',
    "{:api_key=>\"s3cret\", client-secret: 's3cret'}" => "{:api_key=>\"…\", client-secret: '…'}"
  }.freeze

  def test_passwords_are_hidden
    HIDDEN.each { |text, shown| assert_equal(shown, Plait.const_get(:Secrets).hide(text)) }
    assert_equal("//...@h \xFF".b, Plait.const_get(:Secrets).hide("//u:s3cret@h \xFF"))
    assert_kind_of(String, Plait.const_get(:Secrets).hide("wide".encode("UTF-16LE")))
  end

  def test_other_text_stays
    ["http://host:80/a@b?c=d", "a@b.example", "the token was wrong", "12:30", ""].each do |text|
      assert_equal(text, Plait.const_get(:Secrets).hide(text))
    end
  end

  def test_text_made_to_take_long
    ["//a:b", "password", "//", "token ", "secret-="].each do |part|
      text = part * 20_000
      assert_kind_of(String, Plait.const_get(:Secrets).hide(text))
    end
  end
end
