sum=0
while read -r price; do
	sum=$((sum + price))
done
echo "$sum"
