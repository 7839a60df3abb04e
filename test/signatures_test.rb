# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/signatures"
# Of the face, and loaded when a program first needs them.
require "plait/mechanisms/mechanism"
require "plait/mechanisms/scope"

# The signatures and the code say the same: the same constants, the same public methods, the same keywords.
class SignaturesTest < Minitest::Test
  SIGNATURES = Support::Signatures.read(Support::FAMILY.map { |name| File.join(Support::ROOT, name, "sig") })
  # The command line and what is below the rooms are no part of it; the Native ones are how the extension calls what
  # Plait::Scheduler is built on.
  NOT_IN_THE_FACE = %i[
    AtomicFile CLI Io Native NativeConnect NativeGVL NativeHTTP NativeMalloc NativeRPC NativeScheduler NativeSelector NativeServer
    NativeShard NativeState Protocols Secrets
  ].freeze

  SIGNATURES.modules(Support::LIBS).each do |signed|
    define_method(:"test_#{signed.name}") do
      assert_empty(signed.missing_methods, "public methods of #{signed.name} that sig/ does not have")
      assert_empty(signed.invented_methods, "methods that sig/ has and #{signed.name} does not")
      assert_empty(signed.differing_parameters, "parameters that sig/ and #{signed.name} do not agree about")
    end
  end

  def test_every_constant_of_the_face_is_signed
    constants = Plait.constants - NOT_IN_THE_FACE
    assert_empty(constants.map { |name| "Plait::#{name}" } - SIGNATURES.constants)
  end

  def test_the_files_mirror_those_of_the_code
    strays = Dir.glob("plait*/sig/**/*.rbs", base: Support::ROOT).reject do |path|
      File.file?(File.join(Support::ROOT, path.sub("/sig/", "/lib/").sub(/\.rbs\z/, ".rb")))
    end
    assert_empty(strays, "files in sig/ for which lib/ has none of that name")
  end

  def test_no_signature_without_a_constant
    SIGNATURES.constants.each { |name| assert(Object.const_defined?(name), "sig/ has #{name}, the code does not") }
  end
end
