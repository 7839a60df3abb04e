# frozen_string_literal: true

require "test_helper"
require "support/certificates"
require "plait/server"
require "plait/server/place"
require "socket"
require "tmpdir"

class ServerPlaceTest < Minitest::Test
  def test_permissions_of_a_unix_socket
    Dir.mktmpdir do |folder|
      { "mode=600" => 0o600, "umask=0117" => 0o660 }.each_with_index do |(query, mode), index|
        listener = Plait::Server::Place.new("unix://#{folder}/#{index}.sock?#{query}").open
        assert_equal(mode, File.stat("#{folder}/#{index}.sock").mode & 0o777)
        listener.close
      end
    end
  end

  def test_an_inherited_socket_is_taken
    socket = Socket.tcp_server_sockets("127.0.0.1", 0).first
    inherited = [Plait.const_get(:Io)::Listener.new(socket)]
    listener = Plait::Server::Place.new(inherited.first.endpoint.to_s).open(inherited: inherited)
    assert_same(socket, listener.io)
    assert_empty(inherited)
  ensure
    socket&.close
  end

  def test_tls
    with_certificates do |folder|
      text = "ssl://127.0.0.1:0?cert=#{folder}/cert.pem&key=#{folder}/key.pem"
      listener = Plait::Server::Place.new(text).open
      assert_predicate(listener.endpoint, :tls?)
      listener.close
      refused("#{text}&verify_mode=perhaps", /verify_mode=perhaps is none of none, peer, force_peer/)
      refused("ssl://127.0.0.1:0?cert=#{folder}/cert.pem&key=#{folder}/other.pem", /the key is not the one of the certificate/)
      refused("ssl://127.0.0.1:0?cert=#{folder}/none.pem&key=#{folder}/key.pem",
              %r{certificate: #{folder}/none\.pem can't be read: No such file or directory\z})
      refused("#{text}&verify_mode=peer&ca=#{folder}/none.pem", /client_ca: .*none\.pem" can't be read as certificates/)
    end
  end

  def test_a_certificate_that_was_renewed
    with_certificates do |folder|
      place = Plait::Server::Place.new("ssl://127.0.0.1:0?cert=#{folder}/cert.pem&key=#{folder}/key.pem")
      first = place.open
      second = place.renew(first)
      assert_equal([true, false], [first.io.equal?(second.io), first.tls.equal?(second.tls)])
      File.unlink("#{folder}/key.pem")
      assert_raises(Plait::UsageError) { place.renew(first) }
    ensure
      first&.close
    end
  end

  def test_what_clients_have_against_a_certificate
    with_certificates do |folder|
      place = Plait::Server::Place.new("ssl://127.0.0.1:0?cert=#{folder}/cert.pem&key=#{folder}/key.pem")
      certificate = OpenSSL::X509::Certificate.new(File.read("#{folder}/cert.pem"))
      { certificate.not_before - 1 => /is valid from .* UTC on: until then clients refuse it\z/,
        certificate.not_after - 1 => /expires at .* UTC\z/,
        certificate.not_after + 1 => /\Atls:.*: the certificate of .* has expired at .* UTC: clients refuse it\z/ }
        .each { |now, words| assert_match(words, place.warning(now)) }
      assert_nil(Plait::Server::Place.new("tcp://127.0.0.1:0").warning)
    end
  end

  def test_what_is_wrong_is_said_with_the_line
    refused("tcp://127.0.0.1:0?bcklog=3", /\Atcp:.*: there is no bcklog=, only cert, key,/)
    refused("tcp://127.0.0.1:0?backlog=few", /backlog=few is no number/)
    refused("unix:///tmp/a.sock?mode=9", /mode=9 is no number/)
    refused("tcp://127.0.0.1:0?backlog=#{"9" * 20}", /backlog=9+ is no number/)
    refused("ssl://127.0.0.1:0", %r{it lacks its cert: ssl://HOST})
    refused("ssl://127.0.0.1:0?cert=a&key=", %r{it lacks its key: ssl://HOST})
    refused("ssl://127.0.0.1:0?cert=a&key=b&verify_mode=peer", /verify_mode=peer needs ca=FILE/)
    refused("tcp://127.0.0.1:0?cert=a&key=b", /cert= is for ssl:.*: here nothing is encrypted/)
  end

  def test_what_is_no_place
    refused("3000", /"3000" has no port; there are tcp:/)
    refused("http://127.0.0.1:80", %r{there is no http:// here, only tcp://HOST:PORT, unix:///PATH or ssl:})
    refused("udp://127.0.0.1:80", %r{there is no udp:// here})
    refused("", /is no endpoint; there are tcp:/)
  end

  private

  def refused(text, words)
    error = assert_raises(Plait::UsageError) { Plait::Server::Place.new(text).load }
    assert_match(words, error.message)
    assert_includes(error.message, text)
  end

  def with_certificates
    Dir.mktmpdir do |folder|
      authority = Certificates::Authority.new
      pair = authority.issue("IP:127.0.0.1")
      File.write("#{folder}/cert.pem", pair.certificate.to_pem)
      File.write("#{folder}/key.pem", pair.key.to_pem)
      File.write("#{folder}/other.pem", authority.issue("IP:127.0.0.1").key.to_pem)
      yield folder
    end
  end
end
