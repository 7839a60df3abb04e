# frozen_string_literal: true

require "digest"
require "zlib"

# The placement of keys in plain Ruby, by which tests judge the engine (placement.c, placement_hash.c).
module ShardPlacementReference
  # @return [(Integer, Integer)] the hash of a key's tag, and the index of its node
  def self.find(key, hash:, tag:, points:, ring:)
    value = Hashes.public_send(hash, Tags.part(key.b, tag))
    return [value, points[value % points.size].last] unless ring

    [value, (points.bsearch { |point, _| point >= value } || points.first).last]
  end

  # The hashes of twemproxy, as it computes them on x86, and the slots of Redis Cluster.
  module Hashes
    # rubocop:disable Lint/AmbiguousOperatorPrecedence -- shifts, ands and sums bind as in the formulas of C
    # rubocop:disable Naming/VariableNumber -- twemproxy's names
    MASK = 0xffff_ffff
    JENKINS_MIX = [4, 6, 8, 16, 19, 4].freeze
    JENKINS_FINAL = [14, 11, 25, 16, 4, 14, 24].freeze

    module_function

    def crc32a(key) = Zlib.crc32(key)

    def crc32(key) = Zlib.crc32(key) >> 16 & 0x7fff

    # With 32 bits: bits above the lower 16 stay, and count in a modulo.
    def crc16(key)
      key.each_byte.inject(0) do |crc, byte|
        step = 8.times.inject((crc >> 8 ^ byte) << 8 & 0xff00) do |value, _|
          (value << 1 ^ (value[15] == 1 ? 0x1021 : 0)) & 0xffff
        end
        (crc << 8 & MASK) ^ step
      end
    end

    def slot(key) = crc16(key) & 0x3fff

    def fnv1_64(key) = fnv1(key, 0x84222325, 0x1b3)

    def fnv1a_64(key) = fnv1a(key, 0x84222325, 0x1b3)

    def fnv1_32(key) = fnv1(key, 0x811c9dc5, 0x1000193)

    def fnv1a_32(key) = fnv1a(key, 0x811c9dc5, 0x1000193)

    def fnv1(key, basis, prime) = signed(key).inject(basis) { |hash, byte| (hash * prime & MASK) ^ byte }

    def fnv1a(key, basis, prime) = signed(key).inject(basis) { |hash, byte| (hash ^ byte) * prime & MASK }

    # Bytes from 0x80 on are negative there.
    def signed(key) = key.unpack("c*").map { |byte| byte & MASK }

    def one_at_a_time(key)
      hash = signed(key).inject(0) do |sum, byte|
        sum = (sum + byte) * 1025 & MASK
        sum ^ sum >> 6
      end
      hash = hash * 9 & MASK
      (hash ^ hash >> 11) * 32_769 & MASK
    end

    def hsieh(key)
      return 0 if key.empty?

      whole = key.bytesize & ~3
      hash = key.byteslice(0, whole).unpack("v*").each_slice(2).inject(0) do |sum, (low, high)|
        sum = sum + low & MASK
        sum = (sum << 16 ^ high << 11 ^ sum) & MASK
        sum + (sum >> 11) & MASK
      end
      avalanche(hsieh_rest(hash, key.byteslice(whole..)))
    end

    def hsieh_rest(hash, rest)
      case rest.bytesize
      when 0 then hash
      when 1 then shifted(hash + rest.getbyte(0), 10, 1)
      when 2 then shifted(hash + rest.unpack1("v"), 11, 17)
      else
        hash = hash + rest.unpack1("v") & MASK
        hash = (hash ^ hash << 16 ^ rest.byteslice(2, 1).unpack1("c") << 18) & MASK
        hash + (hash >> 11) & MASK
      end
    end

    def shifted(hash, left, right)
      hash &= MASK
      hash = (hash ^ hash << left) & MASK
      hash + (hash >> right) & MASK
    end

    def avalanche(hash) = [[3, 5], [4, 17], [25, 6]].inject(hash) { |sum, shifts| shifted(sum, *shifts) }

    MURMUR = 0x5bd1e995
    private_constant :MURMUR

    def murmur(key)
      whole = key.bytesize & ~3
      seed = (0xdeadbeef * key.bytesize & MASK) ^ key.bytesize
      hash = key.byteslice(0, whole).unpack("V*").inject(seed) { |sum, word| (sum * MURMUR & MASK) ^ murmur_word(word) }
      rest = key.byteslice(whole..)
      hash = (hash ^ "#{rest}\0\0\0\0".unpack1("V")) * MURMUR & MASK unless rest.empty?
      murmur_final(hash)
    end

    def murmur_final(hash)
      hash = (hash ^ hash >> 13) * MURMUR & MASK
      hash ^ hash >> 15
    end

    def murmur_word(word)
      word = word * MURMUR & MASK
      (word ^ word >> 24) * MURMUR & MASK
    end

    def jenkins(key)
      words = Array.new(3) { 0xdeadbeef + key.bytesize + 13 & MASK }
      while key.bytesize > 12
        words = add(words, key)
        jenkins_mix(words)
        key = key.byteslice(12..)
      end
      key.empty? ? words[2] : jenkins_final(add(words, key))
    end

    def add(words, key)
      words.zip("#{key.byteslice(0, 12)}#{"\0" * 12}".unpack("V3")).map { |word, more| word + more & MASK }
    end

    def jenkins_mix(words)
      JENKINS_MIX.each_with_index do |shift, i|
        this, after, before = i % 3, (i + 1) % 3, (i + 2) % 3
        words[this] = (words[this] - words[before] & MASK) ^ rotate(words[before], shift)
        words[before] = words[before] + words[after] & MASK
      end
    end

    def jenkins_final(words)
      JENKINS_FINAL.each_with_index do |shift, i|
        before = words[(i + 1) % 3]
        words[(i + 2) % 3] = (words[(i + 2) % 3] ^ before) - rotate(before, shift) & MASK
      end
      words[2]
    end

    def rotate(value, by) = (value << by | value >> 32 - by) & MASK

    def md5(key) = Digest::MD5.digest(key).unpack1("V")
    # rubocop:enable Lint/AmbiguousOperatorPrecedence, Naming/VariableNumber
  end

  # The part of a key that is hashed.
  module Tags
    module_function

    # @param key [String] binary
    # @param rule [String, Symbol, nil] two delimiters, :last_brace, :first_brace, or nil: the whole key
    # @return [String]
    def part(key, rule)
      case rule
      when nil then key
      when :last_brace then behind(key, key.rindex("{"), true)
      when :first_brace then behind(key, key.index("{"), false)
      else between(key, *rule.b.chars)
      end
    end

    def behind(key, brace, may_be_empty)
      return key unless brace && key.end_with?("}")

      tag = key.byteslice((brace + 1)...-1)
      tag.empty? && !may_be_empty ? key : tag
    end

    def between(key, open, close)
      first = key.index(open)
      last = first && key.index(close, first + 1)
      last && last > first + 1 ? key.byteslice((first + 1)...last) : key
    end
    private_class_method :behind, :between
  end
end
